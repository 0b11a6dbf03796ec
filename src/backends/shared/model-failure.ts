import { type Failure, LonghaulError } from "../../contract/error.ts"

/** The error of a failed request to a model. A client must throw a `LonghaulError`; anything else is a defect of the client. */
export function modelFailure(error: unknown): Failure {
  if (LonghaulError.is(error)) return error.toJSON()
  return new LonghaulError("internal", "The model's client failed unexpectedly.", { cause: error }).toJSON()
}
