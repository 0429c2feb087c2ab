/** Which user of this machine is at the other end of a connection over the loopback interface. */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

const table = '/proc/net/tcp';
/** 127.0.0.1 as the kernel prints it. */
const loopback = '0100007F';

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** The number of the user, or null when the kernel does not tell. */
export async function userAtOtherEnd(socket: Socket): Promise<number | null> {
  const { remotePort, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return null;
  const text = await readFile(table, 'latin1').catch(() => '');
  // Local and remote address from the view of the other end, and state 01: established.
  const at = text.indexOf(`${loopback}:${hex(remotePort)} ${loopback}:${hex(localPort)} 01 `);
  if (at === -1) return null;
  const [, , , , , , uid] = text.slice(at, text.indexOf('\n', at)).trim().split(/ +/);
  return uid === undefined ? null : Number(uid);
}
