/**
 * How long a message becomes once it is decoded, without decoding it. Two bytes on the wire may stand for
 * a message with thousands of fields, each of which takes memory and has a name in JSON.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import type { BinaryReader } from '@bufbuild/protobuf/wire';

/** Characters of JSON. */
export const maxDecodedLength = 16_777_216;
const maxDepth = 100;
const lengthDelimited = 2;
const startGroup = 3;
/** `string` and `bytes`. */
const texts: ReadonlySet<number | undefined> = new Set([9, 12]);

interface Shape {
  fields: ReadonlyMap<number, DescField>;
  /** Names and default values of all fields. */
  ownLength: number;
}

const shapes = new WeakMap<DescMessage, Shape>();

function shapeOf(type: DescMessage): Shape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    shape = {
      fields: new Map(type.fields.map((field) => [field.number, field])),
      ownLength: type.fields.reduce((sum, { jsonName }) => sum + jsonName.length + 8, 16),
    };
    shapes.set(type, shape);
  }
  return shape;
}

type Reading = (bytes: Uint8Array) => BinaryReader;

function lengthOf(bytes: Uint8Array, type: DescMessage, read: Reading, depth: number): number {
  if (depth > maxDepth) return Infinity;
  const { fields, ownLength } = shapeOf(type);
  const reader = read(bytes);
  let length = ownLength;
  while (reader.pos < reader.len && length <= maxDecodedLength) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (wireType === startGroup) return Infinity;
    if (wireType !== lengthDelimited) {
      reader.skip(wireType);
      length += 24;
      continue;
    }
    const value = reader.bytes();
    const message = field?.message;
    // A packed list has a number in each byte at worst.
    const perByte = field === undefined || texts.has(field.scalar) ? 2 : 8;
    if (message === undefined || field?.fieldKind === 'map') length += 24 + perByte * value.length;
    if (message !== undefined) length += lengthOf(value, message, read, depth + 1);
  }
  return length;
}

/** Whether a message stays within the limits. A damaged one does: the decoder says what is wrong with it. */
export async function isDecodable(bytes: Uint8Array, type: DescMessage): Promise<boolean> {
  const { BinaryReader: Reader } = await import('@bufbuild/protobuf/wire');
  try {
    return lengthOf(bytes, type, (part) => new Reader(part), 0) <= maxDecodedLength;
  } catch {
    return true;
  }
}
