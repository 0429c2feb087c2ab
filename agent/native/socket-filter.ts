/** Filters of the kernel for what a socket receives (classic BPF): the process is not woken for the rest. */
import { nativeMemory, type Libc } from './libc.ts';
import { SOL_SOCKET, type NativeSocket } from './sockets.ts';

const SO_ATTACH_FILTER = 26;

/** An instruction: its code, how many to skip when a comparison holds and when not, and a value. */
export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Has the kernel drop what a program does not accept. Throws a SystemCallError. */
export function attachFilter(
  libc: Libc,
  socket: NativeSocket,
  program: readonly Instruction[],
): void {
  const instructions = nativeMemory(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    instructions.writeUInt16LE(code, index * 8);
    instructions.writeUInt8(ifTrue, index * 8 + 2);
    instructions.writeUInt8(ifFalse, index * 8 + 3);
    instructions.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  const pointer = nativeMemory(16);
  pointer.writeUInt16LE(program.length, 0);
  pointer.writeBigUInt64LE(libc.addressOf(instructions), 8);
  socket.setOption(SOL_SOCKET, SO_ATTACH_FILTER, pointer);
  // The kernel has its copy by now; until here the memory must not be collected.
  instructions.fill(0);
}
