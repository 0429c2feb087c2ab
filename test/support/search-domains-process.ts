/** Resolves names in a network of its own, whose `resolv.conf` has a search domain; prints what came of each. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';
import { AgentError } from '../../agent/errors.ts';
import { resolveByOs } from '../../agent/net/dns/resolve.ts';

const addresses: Record<string, string> = {
  'shop.corp.test': '10.0.0.1',
  'shop.ext.test': '10.0.0.2',
};
const server = createSocket('udp4');
server.on('message', (message, client) => {
  const { id, questions = [] } = dnsPacket.decode(message);
  const [question] = questions;
  const name = question?.name.toLowerCase() ?? '';
  const address = question?.type === 'A' ? addresses[name] : undefined;
  const isKnown = name in addresses;
  // Outside names that nobody knows are refused, but for those that are said not to exist.
  const code = isKnown ? 0 : /\.corp\.test$|^gone\b/.test(name) ? 3 : 5;
  const answers =
    address === undefined ? [] : [{ name, type: 'A' as const, ttl: 5, data: address }];
  const reply = dnsPacket.encode({
    ...{ type: 'response', id, questions, answers },
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | code,
  });
  server.send(reply, client.port, client.address);
});
server.bind(53, '127.0.0.1');
await once(server, 'listening');
const seen: Record<string, string> = {};
for (const name of process.argv.slice(2)) {
  seen[name] = await resolveByOs(name, 'IPv4').then(
    (found) => ('failure' in found ? found.failure.code : found.address.address),
    (error: unknown) => (error instanceof AgentError ? error.code : String(error)),
  );
}
console.log(JSON.stringify(seen));
process.exit();
