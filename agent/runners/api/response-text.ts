/** The body of a response as assertions, teardown scripts and results see it. */
import type { IncomingHttpHeaders } from 'node:http';
import { isDecodable } from '../../net/http/content-decoding.ts';
import type { ExchangeResponse } from '../../net/http/exchange.ts';
import { decodeText, kindOfBody } from '../../net/http/response-body.ts';

/** What assertions and teardown scripts see, in bytes. */
export const visibleBytes = 25_000_000;
const pictureBytes = 51_200;

export interface ResponseText {
  text: string;
  encoding: 'utf8' | 'base64';
  /** Why this is not all of the body, in words after "but". */
  unread?: string;
}

/** How much of a body is of use. With `isTextWanted` a binary body is text like any other. */
export function usefulBytes(headers: IncomingHttpHeaders, isTextWanted: boolean): number {
  const kind = isTextWanted ? 'text' : kindOfBody(headers['content-type']);
  return { text: visibleBytes, picture: pictureBytes, binary: 0 }[kind];
}

/** Why the text of a body is not all that the server sent. */
function gapIn({ headers, size, isStopped, isCut }: ExchangeResponse): string | undefined {
  const encoding = headers['content-encoding'];
  if (isStopped) return `only the first ${visibleBytes} bytes of the body were read`;
  if (isCut) return 'the compressed data of the body ends early';
  return size === 0 || isDecodable(encoding)
    ? undefined
    : `the body is encoded as "${String(encoding)}", which the agent does not decode`;
}

/** The text of a body, a small picture as base64, or a note in place of what no person reads. */
export function textOfResponse(response: ExchangeResponse, isTextWanted: boolean): ResponseText {
  const { headers, bytes, size } = response;
  const contentType = headers['content-type'];
  const kind = isTextWanted ? 'text' : kindOfBody(contentType);
  if (kind === 'text' || size === 0) {
    const unread = gapIn(response);
    const text = decodeText(bytes, contentType);
    return { text, encoding: 'utf8', ...(unread === undefined ? {} : { unread }) };
  }
  if (kind === 'picture' && size <= pictureBytes) {
    return { text: bytes.toString('base64'), encoding: 'base64' };
  }
  return {
    text: `[${size} bytes of ${contentType ?? 'unknown type'}, left out]`,
    encoding: 'utf8',
  };
}
