/** Published addresses of data-center locations. */
import { isIPv6 } from 'node:net';
import type { staticIpRoutes } from '@monitor/shared/contract/static-ip.ts';
import type { StaticIp } from '../../core/config.ts';
import type { Handlers } from '../../http/handlers.ts';

export function staticIpHandlers(published: readonly StaticIp[]): Handlers<typeof staticIpRoutes> {
  const views = (ips: readonly StaticIp[]) => {
    const all = ips.map(({ address }) => address);
    const byRegion = Object.fromEntries(
      [...Map.groupBy(ips, ({ region }) => region)].map(([region, list]) => [
        region,
        list.map(({ address }) => address),
      ]),
    );
    return {
      list: () => Promise.resolve(all),
      byRegion: () => Promise.resolve(byRegion),
      text: () => Promise.resolve(all.map((address) => `${address}\n`).join('')),
    };
  };
  const four = views(published.filter(({ address }) => !isIPv6(address)));
  const six = views(published.filter(({ address }) => isIPv6(address)));
  return {
    listStaticIps: four.list,
    listStaticIpsByRegion: four.byRegion,
    listStaticIpsText: four.text,
    listStaticIpv6s: six.list,
    listStaticIpv6sByRegion: six.byRegion,
    listStaticIpv6sText: six.text,
  };
}
