import { errorCatalogue, type ErrorBody, type ErrorCode } from '@monitor/shared/contract/errors.ts';

type Attributes = Omit<ErrorBody['attributes'], 'code'>;

/** A refusal. Thrown anywhere below a handler; the last error handler turns it into the body. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly attributes: Attributes;

  constructor(code: ErrorCode, message: string, attributes: Attributes = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.attributes = attributes;
  }

  get statusCode(): number {
    return errorCatalogue[this.code].statusCode;
  }

  /** The body of the answer. Spec: Errors. */
  toBody(requestId: string): ErrorBody {
    const { statusCode, error } = errorCatalogue[this.code];
    return {
      statusCode,
      error,
      message: this.message,
      attributes: { code: this.code, requestId, ...this.attributes },
    };
  }
}

/** Unknown and foreign ids answer alike. */
export function notFound(what: string, id: string): ApiError {
  return new ApiError('NOT_FOUND', `${what} ${id} does not exist`);
}

/** A value that the schema accepts but the account's data does not. */
export function invalidField(path: string, problem: string): ApiError {
  return new ApiError('VALIDATION', `"${path}" ${problem}`, {
    source: 'payload',
    keys: [path],
    issues: [{ path, message: problem }],
  });
}
