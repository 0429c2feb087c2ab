/** Error codes of HTTP/2 by their number (RFC 9113, 7). Node has them among constants of the same values. */
const names = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT'],
  ...['STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR'],
  ...['CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
];

export const http2CodeName = (code: number): string => names[code] ?? 'an unknown code';

/** A target is not held up by a window that is smaller than those of browsers. */
export const windowBytes = 1_048_576;
