/**
 * Distributions as bytes: a version, then for each metric its number, the byte length, and the
 * content. The content is the count, then for one value that value; for more values the sum, the
 * squared deviations, the extremes, the count of zeros, and the bins (distance from the previous
 * bin, count). Integers are varints, other numbers doubles.
 */
import { measuredMetrics } from '@monitor/shared/domain/metrics.ts';
import type { Bins } from './bins.ts';
import { Distribution } from './distribution.ts';

const metricOfNumber = new Map(
  [...measuredMetrics.values()].map(({ name, storedAs }) => [storedAs, name]),
);
const numberOfMetric = new Map([...metricOfNumber].map(([number, name]) => [name, number]));

function numberOf(metric: string): number {
  const number = numberOfMetric.get(metric);
  if (number === undefined) throw new Error(`no metric is called ${metric}`);
  return number;
}

const version = 1;

export type Distributions = Map<string, Distribution>;

class Writer {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.length + count));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  whole(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.length] = (rest % 128) + 128;
      this.length += 1;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.length] = rest;
    this.length += 1;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  clear(): void {
    this.length = 0;
  }

  append(other: Writer): void {
    this.#reserve(other.length);
    this.#bytes.set(other.#bytes.subarray(0, other.length), this.length);
    this.length += other.length;
  }

  written(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  whole(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw new RangeError('a roll-up ends too early');
      this.at += 1;
      if (byte < 128) return value + byte * scale;
      value += (byte - 128) * scale;
      scale *= 128;
    }
  }

  double(): number {
    const value = this.#view.getFloat64(this.at, true);
    this.at += 8;
    return value;
  }
}

/** Bins of magnitudes below one have negative keys. */
const zigzag = (key: number): number => (key < 0 ? -2 * key - 1 : 2 * key);
const unzigzag = (code: number): number => (code % 2 === 1 ? -(code + 1) / 2 : code / 2);

function writeBins(writer: Writer, bins: Bins): void {
  writer.whole(bins.size);
  let before: number | null = null;
  bins.each((key, count) => {
    writer.whole(before === null ? zigzag(key) : key - before);
    writer.whole(count);
    before = key;
  });
}

/** Bins that are being read; they are copied before the next ones. */
const keys: number[] = [];
const counts: number[] = [];

function readBins(reader: Reader, bins: Bins): void {
  const size = reader.whole();
  let key = 0;
  for (let index = 0; index < size; index += 1) {
    key = index === 0 ? unzigzag(reader.whole()) : key + reader.whole();
    keys[index] = key;
    counts[index] = reader.whole();
  }
  bins.addInOrder(keys, counts, size);
}

function write(writer: Writer, values: Distribution): void {
  writer.whole(values.count);
  if (values.count === 1) {
    writer.double(values.sum);
    return;
  }
  for (const moment of [values.sum, values.squaredDeviations, values.min, values.max]) {
    writer.double(moment);
  }
  writer.whole(values.zeros);
  writeBins(writer, values.positive);
  writeBins(writer, values.negative);
}

function readInto(reader: Reader, values: Distribution): void {
  const count = reader.whole();
  if (count === 1) {
    values.add(reader.double());
    return;
  }
  values.addMoments(count, reader.double(), reader.double(), reader.double(), reader.double());
  values.zeros += reader.whole();
  readBins(reader, values.positive);
  readBins(reader, values.negative);
}

export function pack(distributions: Distributions): Uint8Array {
  const writer = new Writer();
  const own = new Writer();
  writer.whole(version);
  for (const [metric, values] of distributions) {
    if (values.count === 0) continue;
    own.clear();
    write(own, values);
    writer.whole(numberOf(metric));
    writer.whole(own.length);
    writer.append(own);
  }
  return writer.written();
}

/**
 * Adds packed distributions to the given ones: the requested metrics, or all. Unknown metrics are
 * skipped; an unknown version of the format throws.
 */
export function unpackInto(
  packed: Uint8Array,
  distributions: Distributions,
  wanted?: ReadonlySet<string>,
): void {
  const reader = new Reader(packed);
  const found = reader.whole();
  if (found !== version) throw new RangeError(`roll-ups of version ${found} are not known`);
  while (!reader.isAtEnd) {
    const metric = metricOfNumber.get(reader.whole());
    const length = reader.whole();
    if (metric === undefined || wanted?.has(metric) === false) {
      reader.at += length;
      continue;
    }
    let values = distributions.get(metric);
    if (values === undefined) {
      values = new Distribution();
      distributions.set(metric, values);
    }
    readInto(reader, values);
  }
}
