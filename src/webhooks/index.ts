export { type SignedContent, signWebhook } from "./sign.ts"
export { type ReceivedWebhook, verifyWebhook, type WebhookRefusal } from "./verify.ts"
