import { errorCatalogue, type ErrorBody, type ErrorCode } from '@monitor/shared/contract/errors.ts';

type Attributes = Omit<ErrorBody['attributes'], 'code'>;
/** What existing clients read beside the four fields of every error. */
type FurtherFields = Pick<ErrorBody, 'deploymentId' | 'errorCode'>;

/** An error answer. Thrown below a handler; the last error handler sends it. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly attributes: Attributes;
  readonly #further: FurtherFields;

  constructor(
    code: ErrorCode,
    message: string,
    attributes: Attributes = {},
    further: FurtherFields = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.attributes = attributes;
    this.#further = further;
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
      ...this.#further,
    };
  }
}

/** The same answer for unknown and foreign ids. */
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

/** A value that the schema accepts but the account does not allow. */
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

/** A value that must be unique and is in use. */
export function takenField(path: string, value: string): ApiError {
  return new ApiError('CONFLICT', `"${path}" ${value} is already in use`, {
    source: 'payload',
    keys: [path],
  });
}

/** Spec: Authentication 3. The answer does not depend on the cause, so that it reveals nothing. */
export function badToken(attributes: Attributes = {}): ApiError {
  return new ApiError('BAD_TOKEN', 'Bad Token', {
    ...attributes,
    hint: 'send the header "Authorization: Bearer <API_KEY>" with a key that is neither expired nor revoked',
  });
}

/** Spec: open. A change with `If-Match` that another one came before. */
export function changedMeanwhile(attributes: Attributes = {}): ApiError {
  return new ApiError(
    'PRECONDITION_FAILED',
    'it was changed since it was read: read it again, and decide what to keep',
    attributes,
  );
}
