/** The body of every error. Spec: Errors. */
import { z } from 'zod';

/** Stable parts: the status, its name, a sentence, and facts to act on. */
export const errorBody = z
  .object({
    statusCode: z.int().min(400).max(599),
    error: z.string().meta({ description: 'Name of the status', example: 'Bad Request' }),
    message: z.string().meta({ example: '"frequency" must be one of 0, 1, 2, 5, 10' }),
    attributes: z
      .looseObject({
        code: z.string().meta({ description: 'Stable code of this error', example: 'VALIDATION' }),
        requestId: z.string().exactOptional(),
        source: z.enum(['payload', 'query', 'params', 'headers']).exactOptional(),
        keys: z.array(z.string()).exactOptional(),
        issues: z.array(z.object({ path: z.string(), message: z.string() })).exactOptional(),
      })
      .meta({ description: 'Machine-readable facts; never a secret, never a stack trace' }),
    deploymentId: z.string().exactOptional().meta({
      description: 'Compatibility: the deployment in progress that is in the way',
    }),
    errorCode: z.string().exactOptional().meta({
      description: 'Compatibility: why a trigger ran nothing',
    }),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof errorBody>;

/** All kinds of errors with their status. One row per `attributes.code`. */
export const errorCatalogue = {
  MALFORMED_JSON: { statusCode: 400, error: 'Bad Request' },
  VALIDATION: { statusCode: 400, error: 'Bad Request' },
  BAD_TOKEN: { statusCode: 401, error: 'Unauthorized' },
  /** At the sign-in to the console: who is not there has the same answer as a wrong password. */
  BAD_CREDENTIALS: { statusCode: 401, error: 'Unauthorized' },
  SECOND_FACTOR_NEEDED: { statusCode: 401, error: 'Unauthorized' },
  PAYMENT_REQUIRED: { statusCode: 402, error: 'Payment Required' },
  FORBIDDEN: { statusCode: 403, error: 'Forbidden' },
  NOT_FOUND: { statusCode: 404, error: 'Not Found' },
  METHOD_NOT_ALLOWED: { statusCode: 405, error: 'Method Not Allowed' },
  REQUEST_TIMEOUT: { statusCode: 408, error: 'Request Timeout' },
  CONFLICT: { statusCode: 409, error: 'Conflict' },
  /** An agent and the control plane have no version of their protocol in common. */
  PROTOCOL_UNSUPPORTED: { statusCode: 409, error: 'Conflict' },
  /** `If-Match` names an earlier state. */
  PRECONDITION_FAILED: { statusCode: 412, error: 'Precondition Failed' },
  PAYLOAD_TOO_LARGE: { statusCode: 413, error: 'Payload Too Large' },
  UNSUPPORTED_MEDIA_TYPE: { statusCode: 415, error: 'Unsupported Media Type' },
  TOO_MANY_REQUESTS: { statusCode: 429, error: 'Too Many Requests' },
  INTERNAL: { statusCode: 500, error: 'Internal Server Error' },
  UNAVAILABLE: { statusCode: 503, error: 'Service Unavailable' },
} as const;
export type ErrorCode = keyof typeof errorCatalogue;
