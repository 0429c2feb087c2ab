/**
 * How long a message becomes once it is decoded, without decoding it. Two bytes on the wire may stand for
 * a message with thousands of fields, each of which takes memory and has a name in JSON.
 */
import type { DescField, DescMessage, Registry } from '@bufbuild/protobuf';
import type { BinaryReader } from '@bufbuild/protobuf/wire';

/** Characters of JSON. */
export const maxDecodedLength = 16_777_216;
const maxDepth = 100;
const lengthDelimited = 2;
const startGroup = 3;
/** `string` and `bytes`. */
const texts: ReadonlySet<number | undefined> = new Set([9, 12]);

interface Field {
  desc: DescField;
  /** The longest name of its enum, which stands for a number; 0 for others. */
  nameLength: number;
}

interface Shape {
  fields: ReadonlyMap<number, Field>;
  /** Names and default values of all fields. */
  ownLength: number;
}

const shapes = new WeakMap<DescMessage, Shape>();

function shapeOf(type: DescMessage): Shape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    const fields = type.fields.map((desc): Field => ({
      desc,
      nameLength: desc.enum?.values.reduce((most, { name }) => Math.max(most, name.length), 0) ?? 0,
    }));
    shape = {
      fields: new Map(fields.map((field) => [field.desc.number, field])),
      ownLength: fields.reduce(
        (sum, { desc, nameLength }) => sum + desc.jsonName.length + 8 + nameLength,
        16,
      ),
    };
    shapes.set(type, shape);
  }
  return shape;
}

interface Reading {
  read: (bytes: Uint8Array) => BinaryReader;
  /** Types that `Any` may hold. */
  registry: Registry | undefined;
}

/** The fields of a message that have a length, while they are asked for. */
function* delimitedIn(reader: BinaryReader): Generator<[number, Uint8Array]> {
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === lengthDelimited) yield [number, reader.bytes()];
    else reader.skip(wireType);
  }
}

/** Messages in an entry of a map; one without a value has an empty one. */
function lengthOfEntry(entry: Uint8Array, type: DescMessage, by: Reading, depth: number): number {
  let length = shapeOf(type).ownLength;
  for (const [number, value] of delimitedIn(by.read(entry))) {
    if (number === 2) length += lengthOf(value, type, by, depth);
    if (length > maxDecodedLength) break;
  }
  return length;
}

/** What an `Any` holds is decoded for its JSON. One that is damaged stops that. */
function lengthOfAny(bytes: Uint8Array, by: Reading, depth: number): number {
  let url = '';
  let value = new Uint8Array();
  for (const [number, part] of delimitedIn(by.read(bytes))) {
    if (number === 1) url = new TextDecoder().decode(part);
    if (number === 2) value = Uint8Array.from(part);
  }
  const type = by.registry?.getMessage(url.slice(url.lastIndexOf('/') + 1));
  if (type === undefined) return 0;
  try {
    return lengthOf(value, type, by, depth);
  } catch {
    return 0;
  }
}

function lengthOf(bytes: Uint8Array, type: DescMessage, by: Reading, depth: number): number {
  if (depth > maxDepth) return Infinity;
  const { fields, ownLength } = shapeOf(type);
  const reader = by.read(bytes);
  let length = ownLength;
  while (reader.pos < reader.len && length <= maxDecodedLength) {
    const [number, wireType] = reader.tag();
    const { desc, nameLength = 0 } = fields.get(number) ?? {};
    if (wireType === startGroup) return Infinity;
    if (wireType !== lengthDelimited) {
      reader.skip(wireType);
      length += 24 + nameLength;
      continue;
    }
    const value = reader.bytes();
    const message = desc?.message;
    const isMap = desc?.fieldKind === 'map';
    // A packed list has a number in each byte at worst.
    const perByte = desc === undefined || texts.has(desc.scalar) ? 2 : 8 + (isMap ? 0 : nameLength);
    if (message === undefined || isMap) length += 24 + perByte * value.length + nameLength;
    if (message !== undefined) {
      const measure = isMap ? lengthOfEntry : lengthOf;
      length += measure(value, message, by, depth + 1);
    }
  }
  if (type.typeName === 'google.protobuf.Any') length += lengthOfAny(bytes, by, depth + 1);
  return length;
}

/**
 * Whether a message stays within the limits. A damaged one does: the decoder says what is wrong with it.
 * `registry` has the types that its JSON may need.
 */
export async function isDecodable(
  bytes: Uint8Array,
  type: DescMessage,
  registry?: Registry,
): Promise<boolean> {
  const { BinaryReader: Reader } = await import('@bufbuild/protobuf/wire');
  const by: Reading = { read: (part) => new Reader(part), registry };
  try {
    return lengthOf(bytes, type, by, 0) <= maxDecodedLength;
  } catch {
    return true;
  }
}
