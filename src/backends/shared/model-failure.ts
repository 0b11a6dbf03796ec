import { type Failure, LonghaulError } from "../../contract/error.ts"

/** What a request to a model failed with. A client must throw a `LonghaulError`; anything else is its defect. */
export function modelFailure(error: unknown): Failure {
  if (LonghaulError.is(error)) return error.toJSON()
  return new LonghaulError("internal", "The model's client failed unexpectedly.", { cause: error }).toJSON()
}
