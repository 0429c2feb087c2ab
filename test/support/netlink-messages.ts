/** Messages of netlink as a kernel sent them, and a kernel that sends such. */
import type { Libc } from '../../agent/native/libc.ts';
import { faultyLibc, fillMessage, realLibc } from './faulty-libc.ts';

/** The bytes of hexadecimal text with spaces and line ends. */
export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

/** Recorded of Linux 6.18: what it answered to questions with the sequence number 7. */
export const recorded = {
  /** 8.8.8.8 by 10.0.0.1, from 10.0.0.2, on interface 4. */
  route: hex(`70000000 1800 0000 07000000 56730000 02200000 fe000001 00020000
    0800 0f00 fe000000 0800 0100 08080808 0800 0400 04000000 0800 0700 0a000002 0800 0500 0a000001
    0800 1900 00000000 2400 0c00 ${'00'.repeat(32)}`),
  /** 2001:db8::1 by fd00::1. */
  route6: hex(`b0000000 1800 0000 07000000 56730000 0a808000 fe030001 00000000 0800 0f00 fe000000
    1400 0100 20010db8000000000000000000000001 1400 0200 ${'00'.repeat(16)}
    1400 0700 fd000000000000000000000000000002 0800 0600 00040000
    1400 0500 fd000000000000000000000000000001 0800 0400 04000000
    2400 0c00 0002 ${'00'.repeat(30)} 0500 1400 00000000`),
  /** A route that says "prohibit". */
  refusal: hex(`38000000 0200 0000 07000000 56730000 f3ffffff 24000000 1a000100 07000000 00000000
    02200000 00000000 00000000 0800 0100 0a4d0101`),
  /** Neighbours 10.0.0.1 on interface 4, permanent, and 224.0.0.22 on 2. */
  neighbours: hex(`4c000000 1c00 0200 07000000 56730000 02000000 04000000 8000 0001
    0800 0100 0a000001 0a00 0200 0200000000010000 0800 0400 00000000
    1400 0300 0b0000000b0000000b00000000000000
    4c000000 1c00 0200 07000000 56730000 02000000 02000000 4000 0005
    0800 0100 e0000016 0a00 0200 01005e0000160000 0800 0400 00000000
    1400 0300 7b1700000b0000000b00000000000000`),
  done: hex('14000000 0300 0200 07000000 56730000 00000000'),
  /** `from 10.5.0.0/16 lookup 100`, and the rule of the main table. */
  rules: hex(`44000000 2000 0200 07000000 56730000 02001000 64000001 00000000 0800 0f00 64000000
    0800 0e00 ffffffff 0500 1500 00000000 0800 0600 fd7f0000 0800 0200 0a050000
    3c000000 2000 0200 07000000 56730000 02000000 fe000001 00000000 0800 0f00 fe000000
    0800 0e00 ffffffff 0500 1500 02000000 0800 0600 fe7f0000`),
  /** The bridge br0, up and with a link, shortened to its name and kind. */
  link: hex(`40000000 1000 0000 07000000 56730000 0000 0100 02000000 43100100 00000000
    0800 0300 62723000 1000 1200 0b00 0100 62726964676500 00 08001f0001000000`),
} as const;

/** The bytes with another sequence number in each of their messages. */
export function numbered(bytes: Buffer, sequence = 1): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at += copy.readUInt32LE(at))
    copy.writeUInt32LE(sequence, at + 8);
  return copy;
}

/** An answer that is an error, as `-13` for EACCES. */
export function refusal(error: number): Buffer {
  const bytes = Buffer.from(recorded.refusal);
  bytes.writeInt32LE(error, 16);
  return bytes;
}

/** The types of questions. */
export type Asked = 'link' | 'route' | 'neighbours' | 'rules';
const types: Readonly<Record<number, Asked>> = {
  ...{ 18: 'link', 26: 'route', 30: 'neighbours', 34: 'rules' },
};

/** A kernel that answers a question with bytes, or does not take it: a number is an error of `sendto`. */
export function kernelThatKnows(
  answerTo: (asked: Asked, question: Buffer) => Buffer | number,
): Libc {
  const real = realLibc();
  let answer: Buffer | null = null;
  return faultyLibc((call, _before, given) => {
    if (call === 'sendto') {
      const question = given[1] as Buffer;
      const made = answerTo(types[question.readUInt16LE(4)] ?? 'link', question);
      if (typeof made === 'number') return made;
      const isDump = (question.readUInt16LE(6) & 0x300) === 0x300;
      const whole = isDump ? Buffer.concat([made, recorded.done]) : made;
      answer = numbered(whole, question.readUInt32LE(8));
      return question.length;
    }
    if (call !== 'recvmsg') return null;
    return answer === null ? -11 : fillMessage(real, given[1] as Buffer, answer);
  }).libc;
}
