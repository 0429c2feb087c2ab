/** Values that follow from others while nobody has typed them. */
import type { Query } from '../router.ts';
import { forms } from '../form-facts.ts';
import { initialOf, isValues, type Values } from './values.ts';

/** Names that were made here, by the object that they were made for. */
let made = '';

/** The first page that a script opens. */
const opened = /\.goto\(\s*['"`]https?:\/\/([^'"`?#]+?)\/?['"`?#]/i;

/** The name of a check for its target: `shop.example/health` for a URL. */
function targetOf({ request, script }: Values) {
  if (!isValues(request)) return opened.exec(String(script ?? ''))?.[1] ?? '';
  const { url, hostname, port, query, sslConfig } = request;
  if (typeof url === 'string') return url.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  if (isValues(sslConfig)) return String(sslConfig.hostname ?? '');
  if (typeof hostname === 'string') return port == null ? hostname : `${hostname}:${port}`;
  return typeof query === 'string' ? query : '';
}

function slugOf(text: string) {
  return text
    .normalize('NFKD')
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '-')
    .slice(0, 30)
    .replaceAll(/^-|-$/g, '');
}

function followed(field: string, make: (values: Values) => string) {
  return (values: Values, changed: Values) => {
    if (field in changed || (values[field] !== '' && values[field] !== made)) return values;
    made = make(values);
    return { ...values, [field]: made };
  };
}

/** By form. */
export const adjustments: Record<string, (values: Values, changed: Values) => Values> = {
  check: followed('name', targetOf),
  location: followed('slugName', ({ name }) => slugOf(String(name))),
  page: followed('url', ({ name }) => slugOf(String(name))),
};

function groupingOfNew() {
  const field = forms.channel?.fields.grouping;
  return field && initialOf(field, { isOn: true });
}

/** What a new entry begins with beside the defaults of the contract. By form. */
export const beginnings: Record<string, (query: Query) => Values> = {
  // Nobody makes a channel in order not to be notified, or to get thirty messages of one cause.
  channel: () => ({ autoSubscribe: true, grouping: groupingOfNew() }),
  page: () => ({ cards: [{ name: 'Services', services: [] }] }),
};
