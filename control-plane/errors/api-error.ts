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

function invalid(source: 'payload' | 'query' | 'headers', path: string, problem: string): ApiError {
  return new ApiError('VALIDATION', `"${path}" ${problem}`, {
    source,
    keys: [path],
    issues: [{ path, message: problem }],
  });
}

/** A value in the body that the schema accepts but the account's data does not. */
export function invalidField(path: string, problem: string): ApiError {
  return invalid('payload', path, problem);
}

/** The same for a query parameter. */
export function invalidQuery(path: string, problem: string): ApiError {
  return invalid('query', path, problem);
}

/** The same for a header. */
export function invalidHeader(name: string, problem: string): ApiError {
  return invalid('headers', name, problem);
}

/** A value that has to be unique and is not. */
export function takenField(path: string, value: string): ApiError {
  return new ApiError('CONFLICT', `"${path}" ${value} is already in use`, {
    source: 'payload',
    keys: [path],
  });
}

/** Spec: Authentication 3. The same answer whatever was wrong, so nothing can be learned from it. */
export function badToken(): ApiError {
  return new ApiError('BAD_TOKEN', 'Bad Token', {
    hint: 'send the header "Authorization: Bearer <API_KEY>" with a key that is neither expired nor revoked',
  });
}
