/**
 * Filters of the kernel for what a socket receives: the process is not woken for the rest. They are
 * programs of the kernel's small language (classic BPF, "Linux Socket Filtering" in its documentation).
 */
import { nativeMemory, type Libc } from './libc.ts';
import { SOL_SOCKET, type NativeSocket } from './sockets.ts';

const SO_ATTACH_FILTER = 26;

/** `headerToX` sets X to the length of an IPv4 header; `keep` ends the program. */
const operations = {
  ...{ byte: 0x30, half: 0x28, byteAtX: 0x50, halfAtX: 0x48, length: 0x80 },
  ...{ headerToX: 0xb1, loadX: 0x01, toX: 0x07, save: 0x02, restore: 0x60 },
  ...{ add: 0x04, and: 0x54, left: 0x64, right: 0x74, addX: 0x0c, subtractX: 0x1c },
  ...{ equal: 0x15, above: 0x25, atLeast: 0x35, any: 0x45, keep: 0x06, keepA: 0x16 },
};

/** A label, an operation, its operand, and for jumps where to go if so and if not; '' is the next line. */
export type FilterLine = readonly [
  label: string,
  operation: keyof typeof operations,
  operand: number,
  ifSo?: string,
  ifNot?: string,
];

/** The program as the kernel reads it: 8 bytes a line. */
export function assembleFilter(program: readonly FilterLine[]): Buffer {
  const lineOf = new Map(program.map(([label], line) => [label, line]));
  const bytes = nativeMemory(program.length * 8);
  program.forEach(([, operation, operand, ...ways], line) => {
    const [ifSo = 0, ifNot = 0] = ways.map((way) =>
      way === undefined || way === '' ? 0 : (lineOf.get(way) ?? line) - line - 1,
    );
    bytes.writeUInt16LE(operations[operation], line * 8);
    bytes.writeUInt8(ifSo, line * 8 + 2);
    bytes.writeUInt8(ifNot, line * 8 + 3);
    bytes.writeUInt32LE(operand, line * 8 + 4);
  });
  return bytes;
}

/** Has the kernel drop what an assembled program does not keep. Throws a SystemCallError. */
export function attachFilter(libc: Libc, socket: NativeSocket, program: Buffer): void {
  const pointer = nativeMemory(16);
  pointer.writeUInt16LE(program.length / 8, 0);
  pointer.writeBigUInt64LE(libc.addressOf(program), 8);
  socket.setOption(SOL_SOCKET, SO_ATTACH_FILTER, pointer);
  // The kernel has its copy by now; until here the memory must not be collected.
  program.fill(0);
}
