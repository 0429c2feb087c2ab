/** Who hears of what the demo's checks see: a webhook, and the visitors of a status page. */
import { callApi, type ApiCall } from '../../proof/api.ts';
import { alertTemplate, type TargetPorts } from './targets.ts';

interface Named {
  id: string;
  name: string;
}

const serviceName = 'Website';
const pageUrl = 'demo';
const channelName = 'demo webhook';

async function ensureService(api: ApiCall): Promise<Named> {
  const { entries } = await callApi<{ entries: Named[] }>(
    api,
    'GET',
    '/v1/status-pages/services?limit=100',
  );
  return (
    entries.find(({ name }) => name === serviceName) ??
    callApi<Named>(api, 'POST', '/v1/status-pages/services', { name: serviceName })
  );
}

async function ensurePage(api: ApiCall, service: Named): Promise<void> {
  const { entries } = await callApi<{ entries: { url: string }[] }>(
    api,
    'GET',
    '/v1/status-pages?limit=100',
  );
  if (entries.some(({ url }) => url === pageUrl)) return;
  await callApi(api, 'POST', '/v1/status-pages', {
    name: 'Demo shop',
    url: pageUrl,
    description: 'How the shop of the demo is doing. Its website goes down every other 40 seconds.',
    cards: [{ name: 'Shop', services: [{ id: service.id }] }],
  });
}

async function ensureWebhook(api: ApiCall, ports: TargetPorts): Promise<void> {
  const channels = await callApi<{ config: { name?: string } }[]>(
    api,
    'GET',
    '/v1/alert-channels?limit=100',
  );
  if (channels.some(({ config }) => config.name === channelName)) return;
  await callApi(api, 'POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: channelName,
      url: `http://127.0.0.1:${ports.http}/alerts`,
      method: 'POST',
      template: alertTemplate,
    },
    sendDegraded: true,
    autoSubscribe: true,
  });
}

/** Makes the webhook, the page and its service, unless they are there. */
export async function ensurePeople(
  api: ApiCall,
  ports: TargetPorts,
): Promise<{ serviceId: string; pagePath: string }> {
  await ensureWebhook(api, ports);
  const service = await ensureService(api);
  await ensurePage(api, service);
  return { serviceId: service.id, pagePath: `/status/${pageUrl}` };
}
