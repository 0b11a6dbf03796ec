/** The callbacks that every plugin of `@google/adk` must have: these do nothing. */
export class UnusedCallbacks {
  async onUserMessageCallback(): Promise<undefined> {}
  async beforeRunCallback(): Promise<undefined> {}
  async onEventCallback(): Promise<undefined> {}
  async afterRunCallback(): Promise<undefined> {}
  async beforeAgentCallback(): Promise<undefined> {}
  async afterAgentCallback(): Promise<undefined> {}
  async beforeNodeCallback(): Promise<undefined> {}
  async afterNodeCallback(): Promise<undefined> {}
  async afterModelCallback(): Promise<undefined> {}
  async onModelErrorCallback(): Promise<undefined> {}
  async beforeToolSelection(): Promise<undefined> {}
  async beforeContextCompaction(): Promise<void> {}
  async afterContextCompaction(): Promise<void> {}
}
