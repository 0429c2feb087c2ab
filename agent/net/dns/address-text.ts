/** Addresses of records as text. */

export const ipv4Text = (bytes: Buffer): string => bytes.join('.');

/** The longest run of zeros is left out: `2001:db8::1` (RFC 5952 section 4). */
export function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_group, index) => bytes.readUInt16BE(index * 2));
  // A single zero is written out.
  let run = { at: 8, length: 1 };
  for (let at = 0; at < 8; at += 1) {
    let length = 0;
    while (groups[at + length] === 0) length += 1;
    if (length > run.length) run = { at, length };
  }
  const text = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  if (run.at === 8) return text(groups);
  return `${text(groups.slice(0, run.at))}::${text(groups.slice(run.at + run.length))}`;
}
