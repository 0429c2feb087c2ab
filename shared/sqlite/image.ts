/**
 * Reads the pages of an SQLite database from its bytes. SQLite itself stops at the first damaged
 * page and ignores the log after the first damaged frame. Formats: sqlite.org/fileformat2.
 */

/** Random access to bytes, such as a file. Reads past the end give fewer bytes. */
export interface Bytes {
  size: number;
  read(offset: number, length: number): Uint8Array;
}

/** The write-ahead log beside a database. */
export interface LogReading {
  /** Offset of the newest content of each page in the log. */
  pages: ReadonlyMap<number, number>;
  /** Commits that SQLite would use. */
  commits: number;
  /**
   * Commits after a damaged frame, which SQLite ignores silently; without an incomplete last
   * commit, which was never acknowledged.
   */
  ignoredCommits: number;
  damagedFrames: number;
}

const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const smallestPage = 512;
const maxPageSize = 65_536;
/** So many frames in a row may have a damaged checksum, and the one behind them is still verified. */
const maxChecksumChains = 4;
const usualPage = 4_096;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isPageSize(size: number): boolean {
  return size >= smallestPage && size <= maxPageSize && (size & (size - 1)) === 0;
}

/** Page size of a database in bytes: its header says it, or that of its log; without both the default. */
export function pageSizeOf(file: Bytes, log: Bytes | null): number {
  const header = file.read(0, 100);
  const size = header.length < 100 ? 0 : viewOf(header).getUint16(16);
  const inBytes = size === 1 ? maxPageSize : size;
  if (isPageSize(inBytes)) return inBytes;
  const top = log?.read(0, logHeaderBytes) ?? new Uint8Array();
  const inLog = top.length < logHeaderBytes ? 0 : viewOf(top).getUint32(8);
  return isPageSize(inLog) ? inLog : usualPage;
}

type Checksum = readonly [number, number];

function addToChecksum(sum: Checksum, bytes: Uint8Array, isLittleEndian: boolean): Checksum {
  let [first, second] = sum;
  const view = viewOf(bytes);
  for (let offset = 0; offset + 8 <= bytes.length; offset += 8) {
    first = (first + view.getUint32(offset, isLittleEndian) + second) >>> 0;
    second = (second + view.getUint32(offset + 4, isLittleEndian) + first) >>> 0;
  }
  return [first, second];
}

/**
 * Reads a log. The checksum of a frame continues the one of the frame before, which is in the log
 * too, so frames after a damaged one can be verified. The damage may be in that stored checksum
 * itself: then the computed one is continued.
 */
export function readLog(log: Bytes, pageSize: number): LogReading {
  const pages = new Map<number, number>();
  const reading = { pages, commits: 0, ignoredCommits: 0, damagedFrames: 0 };
  const header = log.read(0, logHeaderBytes);
  if (header.length < logHeaderBytes) return reading;
  const top = viewOf(header);
  const isLittleEndian = top.getUint32(0) !== 0x377f0683;
  const frameBytes = frameHeaderBytes + pageSize;
  const saltsAt = (offset: number): string | null => {
    const bytes = log.read(offset, 8);
    return bytes.length < 8 ? null : bytes.join();
  };
  const headerSum = addToChecksum([0, 0], header.subarray(0, 24), isLittleEndian);
  const isHeaderWhole = headerSum[0] === top.getUint32(24) && headerSum[1] === top.getUint32(28);
  const firstSalts = saltsAt(logHeaderBytes + 8);
  const secondSalts = saltsAt(logHeaderBytes + frameBytes + 8);
  // Frames of an earlier log have other salts; a damaged header is replaced by those of the frames.
  let salts = saltsAt(16);
  if (!isHeaderWhole && firstSalts !== null && firstSalts === secondSalts) salts = firstSalts;
  let previous: Checksum[] = [[top.getUint32(24), top.getUint32(28)]];
  if (!isHeaderWhole) previous.push(headerSum);
  let isUsed = isHeaderWhole;
  let uncommitted = new Map<number, number>();
  let mayBeCutShort = isHeaderWhole;
  let endsWithCommit = false;
  for (let at = logHeaderBytes; at + frameBytes <= log.size; at += frameBytes) {
    const frame = log.read(at, frameBytes);
    if (frame.length < frameBytes) break;
    const view = viewOf(frame);
    const stored: Checksum = [view.getUint32(16), view.getUint32(20)];
    const isOfThisLog = frame.subarray(8, 16).join() === salts;
    const computed = previous.map((before) =>
      addToChecksum(
        addToChecksum(before, frame.subarray(0, 8), isLittleEndian),
        frame.subarray(frameHeaderBytes),
        isLittleEndian,
      ),
    );
    const isWhole =
      isOfThisLog && computed.some((sum) => sum[0] === stored[0] && sum[1] === stored[1]);
    previous = isWhole ? [stored] : [stored, ...computed].slice(0, maxChecksumChains);
    if (!isWhole) {
      const next = saltsAt(at + frameBytes + 8);
      // The rest belongs to an earlier log.
      if (!isOfThisLog && next !== salts) break;
      reading.damagedFrames += 1;
      isUsed = false;
      endsWithCommit = false;
      if (isOfThisLog && view.getUint32(4) !== 0) mayBeCutShort = false;
      continue;
    }
    uncommitted.set(view.getUint32(0), at + frameHeaderBytes);
    endsWithCommit = view.getUint32(4) !== 0;
    if (!endsWithCommit) continue;
    for (const [page, offset] of uncommitted) pages.set(page, offset);
    uncommitted = new Map();
    if (isUsed) reading.commits += 1;
    else reading.ignoredCommits += 1;
  }
  // Further frames are written only after the commit is durable.
  if (mayBeCutShort && endsWithCommit && reading.ignoredCommits === 1) reading.ignoredCommits = 0;
  // The commit frame may be the damaged one, or cut off.
  for (const [page, offset] of uncommitted) pages.set(page, offset);
  return reading;
}

/** A database with its log, page by page; the first page is number 1. */
export class DatabaseImage {
  readonly pageSize: number;
  readonly pageCount: number;
  readonly log: LogReading | null;
  readonly #file: Bytes;
  readonly #logBytes: Bytes | null;

  constructor(file: Bytes, logBytes: Bytes | null) {
    this.#file = file;
    this.#logBytes = logBytes;
    this.pageSize = pageSizeOf(file, logBytes);
    this.log = logBytes === null ? null : readLog(logBytes, this.pageSize);
    let count = Math.ceil(file.size / this.pageSize);
    for (const page of this.log?.pages.keys() ?? []) count = Math.max(count, page);
    this.pageCount = count;
  }

  /** Write order of a page in the log; -1 for a page that is not in it. */
  writtenAt(number: number): number {
    return this.log?.pages.get(number) ?? -1;
  }

  /** The content of a page, padded with zeros at the end of the file; null outside of it. */
  page(number: number): Uint8Array | null {
    if (number < 1 || number > this.pageCount) return null;
    const inLog = this.log?.pages.get(number);
    const bytes =
      inLog === undefined || this.#logBytes === null
        ? this.#file.read((number - 1) * this.pageSize, this.pageSize)
        : this.#logBytes.read(inLog, this.pageSize);
    if (bytes.length === this.pageSize) return bytes;
    const whole = new Uint8Array(this.pageSize);
    whole.set(bytes);
    return whole;
  }
}
