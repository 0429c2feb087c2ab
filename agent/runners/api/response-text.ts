/** The body of a response as assertions, teardown scripts and results see it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ExchangeResponse } from '../../net/http/exchange.ts';
import { decodeText, kindOfBody } from '../../net/http/response-body.ts';

/** What assertions and teardown scripts see, in bytes. */
export const visibleBytes = 25_000_000;
const pictureBytes = 51_200;

export interface ResponseText {
  text: string;
  encoding: 'utf8' | 'base64';
}

/** How much of a body is of use. With `isTextWanted` a binary body is text like any other. */
export function usefulBytes(headers: IncomingHttpHeaders, isTextWanted: boolean): number {
  const kind = isTextWanted ? 'text' : kindOfBody(headers['content-type']);
  return { text: visibleBytes, picture: pictureBytes, binary: 0 }[kind];
}

/** The text of a body, a small picture as base64, or a note in place of what no person reads. */
export function textOfResponse(
  { headers, bytes, size }: ExchangeResponse,
  isTextWanted: boolean,
): ResponseText {
  const contentType = headers['content-type'];
  const kind = isTextWanted ? 'text' : kindOfBody(contentType);
  if (kind === 'text' || size === 0)
    return { text: decodeText(bytes, contentType), encoding: 'utf8' };
  if (kind === 'picture' && size <= pictureBytes) {
    return { text: bytes.toString('base64'), encoding: 'base64' };
  }
  return {
    text: `[${size} bytes of ${contentType ?? 'unknown type'}, left out]`,
    encoding: 'utf8',
  };
}
