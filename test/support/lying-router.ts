/**
 * Answers every IPv4 packet that comes in for 10.99.0.0/16 with ICMP messages of all kinds, many of them
 * nonsense: any type and code, any fourth to eighth byte, quotes that are cut off or too long. The
 * argument is the seed of its random numbers. Says "lying" when it does.
 */
import { AF_INET, AF_PACKET, NativeSocket } from '../../agent/native/sockets.ts';
import { SOCK_DGRAM, SOCK_RAW, addressText, socketAddress } from '../../agent/native/sockets.ts';
import { realLibc } from './faulty-libc.ts';
import { seededRandom } from './random.ts';

const ethernetIpv4 = 0x0008;
const icmp = 1;
const random = seededRandom(Number(process.argv[2] ?? 1));
const below = (limit: number): number => Math.floor(random() * limit);

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function lie(packet: Buffer): Buffer {
  const type = [3, 3, 3, 4, 5, 11, 11, 12, below(256)][below(9)] ?? 3;
  const code = below(random() < 0.5 ? 16 : 256);
  const quote = packet.subarray(0, random() < 0.5 ? 28 : below(packet.length + 1));
  const filler = Buffer.alloc(random() < 0.3 ? below(200) : 0, 0xff);
  const header = Buffer.from([type, code, 0, 0, ...Array.from({ length: 4 }, () => below(256))]);
  const message = Buffer.concat([header, quote, filler]);
  message.writeUInt16BE(checksum(message), 2);
  return message;
}

const libc = realLibc();
const wire = new NativeSocket(libc, AF_PACKET, SOCK_DGRAM, ethernetIpv4);
const out = new NativeSocket(libc, AF_INET, SOCK_RAW, icmp);
wire.watch({ readable: true }, () => {
  const received = wire.receive();
  if (received === null || typeof received === 'number') return;
  const packet = Buffer.from(received.bytes);
  if (packet.length < 28 || packet[16] !== 10 || packet[17] !== 99) return;
  const to = socketAddress(addressText(packet.subarray(12, 16)));
  for (let message = 0; message < 3; message += 1) out.send(lie(packet), to);
});
// Waiting for packets does not keep a process running.
setInterval(() => undefined, 60_000);
console.log('lying');
