/** Values that follow from others while nobody has typed them. */
/** @import { Query } from '../router.js' */
/** @import { Values } from './values.js' */
import { isValues } from './values.js';

/** Names that were made here, by the object that they were made for. */
let made = '';

/**
 * The name of a check for its target: `shop.example/health` for a URL.
 * @param {Values} values
 */
function targetOf({ request }) {
  if (!isValues(request)) return '';
  const { url, hostname, port, query, sslConfig } = request;
  if (typeof url === 'string') return url.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  if (isValues(sslConfig)) return String(sslConfig.hostname ?? '');
  if (typeof hostname === 'string') return port == null ? hostname : `${hostname}:${port}`;
  return typeof query === 'string' ? query : '';
}

/** @param {string} text */
function slugOf(text) {
  return text
    .normalize('NFKD')
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '-')
    .slice(0, 30)
    .replaceAll(/^-|-$/g, '');
}

/**
 * @param {string} field
 * @param {(values: Values) => string} make
 */
function followed(field, make) {
  return (/** @type {Values} */ values, /** @type {Values} */ changed) => {
    if (field in changed || (values[field] !== '' && values[field] !== made)) return values;
    made = make(values);
    return { ...values, [field]: made };
  };
}

/** By form. @type {Record<string, (values: Values, changed: Values) => Values>} */
export const adjustments = {
  check: followed('name', targetOf),
  location: followed('slugName', ({ name }) => slugOf(String(name))),
  page: followed('url', ({ name }) => slugOf(String(name))),
};

/** What a new entry begins with beside the defaults of the contract. By form. */
/** @type {Record<string, (query: Query) => Values>} */
export const beginnings = {
  // Nobody makes a channel in order not to be notified.
  channel: () => ({ autoSubscribe: true }),
  page: () => ({ cards: [{ name: 'Services', services: [] }] }),
};
