/** Names, routes, firewalls and servers that are not what they should be. */
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { LabHost } from '../../../support/network-lab.ts';
import { anywhere, asRoot, inLab, slow, type Ground, type Making } from './environment.ts';
import { far, type Place } from './office.ts';
import { listening, placed } from './places.ts';

const link = 'http://cp.example:3000';

/** Nobody has the address of the gateway any more. */
async function loseGateway(
  { office }: Ground,
  { host, device, gateway, farDevice }: Place,
): Promise<void> {
  // The kernel asks three times: within 0.3 s instead of 3.
  await host.sysctl(`net.ipv4.neigh.${device}.retrans_time_ms`, '100');
  await office?.farHost.ip('addr', 'del', `${gateway}/24`, 'dev', farDevice);
}

/** A cable whose far end takes smaller packets than it promises, and nobody is told. */
const blackHole = (mtu: number): Making =>
  inLab(async (ground) => {
    const { host, device, farDevice, network } = await placed(ground, link);
    await ground.office?.farHost.ipBatch([
      `link set ${farDevice} mtu ${mtu}`,
      `route replace ${network}.0/24 dev ${farDevice} advmss 1460`,
    ]);
    // Packets go one by one, as they do on a wire: cables of the lab let bundles of any size pass.
    await host.ip('link', 'set', device, 'gso_max_segs', '1');
  });

type Change = (place: Place, ground: Ground) => Promise<unknown> | void;

const at = (url: string, change: Change = () => undefined): Making =>
  inLab(async (ground) => void (await change(await placed(ground, url), ground)));
const atAddress = (address: string, change?: Change): Making =>
  at(`http://${address}:3000`, change);
const resolving = (lines: string): Making => at(link, ({ host }) => host.resolvConf(lines));
const onHost = (change: (host: LabHost) => Promise<unknown>, url = link): Making =>
  at(url, ({ host }) => change(host));

const standIn = (server: () => Server): Making =>
  anywhere(async (ground) => void (await listening(ground, server())));
const socketsAre = (treat: (socket: Socket) => void): Making =>
  standIn(() =>
    createTcpServer((socket) => {
      treat(socket.on('error', () => undefined));
    }),
  );
const misbehaving = (behaviour: Parameters<Ground['controlPlane']['misbehave']>[1]): Making =>
  anywhere(({ controlPlane }) => {
    controlPlane.misbehave('all', behaviour);
  });

export const networkEnvironments: Readonly<Record<string, Making>> = {
  'the name server is behind a firewall that drops': {
    ...slow(resolving(`nameserver ${far.dropped}\n`)),
    from: '7b',
  },
  'the name server refuses to answer this client': resolving(`nameserver ${far.dnsThatRefuses}\n`),
  'the name server cannot reach the one it forwards to': slow(
    resolving(`nameserver ${far.dnsThatFails}\n`),
  ),
  'the first of two name servers is dead': slow(
    resolving(`nameserver ${far.dropped}\nnameserver ${far.dns}\n`),
  ),
  'there is no name server in /etc/resolv.conf': slow(resolving('# managed by nobody\n')),
  'the name of the control plane does not exist': slow(atAddress('typo.example')),
  'the name has an IPv6 address only, and the host has no IPv6': slow(atAddress('six.example')),
  'a DNS filter leads the name to nowhere (0.0.0.0 and ::)': atAddress('filtered.example'),
  'a DNS filter leads the name back to this machine (127.0.0.1 and ::1)': slow(
    atAddress('led-back.example'),
  ),
  'a line of /etc/hosts blocks the control plane': slow(
    asRoot((ground) => {
      ground.settings['CONTROL_PLANE_URL'] = link;
      ground.expected.add('settings');
      const hosts = ground.file('hosts', '127.0.0.1 localhost\n0.0.0.0 cp.example\n');
      ground.withMounts(`mount --bind ${hosts} /etc/hosts`);
    }),
  ),
  'an IPv6 address without an IPv6 route': slow(
    at(link, async ({ host, device }) => {
      await host.ip('addr', 'add', 'fd99::2/128', 'dev', device);
      await host.ip('-6', 'route', 'flush', 'dev', device);
    }),
  ),
  'IPv6 is switched off by a sysctl': onHost((host) =>
    host.sysctl('net.ipv6.conf.all.disable_ipv6', '1'),
  ),
  'there is no default route': slow(
    inLab(async (ground) => {
      await placed(ground, `http://${far.controlPlane}:3000`, { hasRoute: false });
    }),
  ),
  'the default gateway is dead': atAddress(far.controlPlane, (place, ground) =>
    loseGateway(ground, place),
  ),
  'the default gateway is dead, and the name server behind it': slow(
    at(link, (place, ground) => loseGateway(ground, place)),
  ),
  'the cable is pulled out and the address stays': slow(
    atAddress(far.controlPlane, ({ farDevice }, { office }) =>
      office?.farHost.ip('link', 'set', farDevice, 'down'),
    ),
  ),
  'a route of this host is a black hole': slow(
    atAddress(far.controlPlane, ({ host }) =>
      host.ip('route', 'add', 'blackhole', far.controlPlane),
    ),
  ),
  'a firewall drops silently': { ...slow(atAddress(far.dropped)), from: '7c' },
  'a router says the host is unreachable': slow(atAddress(far.unreachable)),
  'a firewall rejects with "administratively prohibited"': slow(atAddress(far.prohibited)),
  'packets that are nearly full vanish on the way, as in a VPN (MTU black hole)': slow(
    blackHole(1_400),
  ),
  'even packets of middle size vanish on the way (MTU black hole)': slow(blackHole(300)),
  'nothing listens on the port': anywhere(({ controlPlane }) => controlPlane.goOffline()),
  'something resets each connection that asks': slow(
    socketsAre((socket) => socket.once('data', () => socket.resetAndDestroy())),
  ),
  'the server accepts and says nothing': slow(socketsAre((socket) => socket.resume())),
  'the control plane is up, and stuck where agents check in': slow(
    misbehaving({ kind: 'silence' }),
  ),
  'another protocol is spoken on the port (SSH)': socketsAre((socket) =>
    socket.write('SSH-2.0-OpenSSH_9.2\r\n'),
  ),
  'a captive portal answers with its page': slow(
    standIn(() =>
      createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end('<html><title>Guest network</title>Please sign in</html>');
      }),
    ),
  ),
  'a captive portal redirects to its login page': misbehaving({
    ...{ kind: 'status', status: 302 },
    headers: { location: 'http://portal.example/login' },
  }),
  'the address of the control plane has a path too much': anywhere(({ settings, controlPlane }) => {
    settings['CONTROL_PLANE_URL'] = `${controlPlane.url}/monitoring`;
  }),
  'the gateway before the control plane has nobody behind it (502)': slow(
    misbehaving({ kind: 'status', status: 502 }),
  ),
  'the control plane has an error of its own (500)': slow(
    misbehaving({ kind: 'status', status: 500 }),
  ),
};
