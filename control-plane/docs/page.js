/**
 * The API reference page: rendered from the OpenAPI document; operations are rendered when they are
 * opened.
 */

const $ = (id) => document.getElementById(id);
const base = new URL('..', document.currentScript.src);
let description;

/** Creates an element; other children become text nodes. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Renders paragraphs, code blocks and inline code, the only markup of descriptions. */
function prose(text) {
  const inline = (line) =>
    line
      .split(/(`[^`]+`)/)
      .map((part) => (part.startsWith('`') ? el('code', {}, part.slice(1, -1)) : part));
  return (text ?? '').split(/\n{2,}/).flatMap((block) => {
    if (block.trim() === '') return [];
    const code = /^```\w*\n([\s\S]*?)\n?```$/.exec(block.trim())?.[1];
    return code === undefined
      ? [el('p', {}, inline(block))]
      : [el('pre', { tabindex: '0' }, el('code', {}, code))];
  });
}

/** Resolves a `$ref`; gives anything else unchanged. */
function resolve(value) {
  if (value?.$ref === undefined) return value;
  return value.$ref
    .slice(2)
    .split('/')
    .reduce((at, part) => at[part], description);
}

const nameOf = (schema) => schema?.$ref?.split('/').at(-1);

function typeOf(given) {
  const schema = resolve(given) ?? {};
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts !== undefined) return [...new Set(parts.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  const type = [schema.type ?? 'any'].flat().join(' or ');
  return nameOf(given) && schema.type === 'object' ? nameOf(given) : (schema.format ?? type);
}

const bounds = {
  minimum: (bound) => `at least ${bound}`,
  maximum: (bound) => `at most ${bound}`,
  minLength: (bound) => `${bound} or more characters`,
  maxLength: (bound) => `at most ${bound} characters`,
  minItems: (bound) => `${bound} or more entries`,
  maxItems: (bound) => `at most ${bound} entries`,
  pattern: (bound) => `matches ${bound}`,
};

function notesOf(given) {
  const schema = resolve(given) ?? {};
  const notes = Object.entries(bounds)
    .filter(
      ([name]) => schema[name] !== undefined && Math.abs(schema[name]) !== Number.MAX_SAFE_INTEGER,
    )
    .map(([name, words]) => words(schema[name]));
  if (schema.enum !== undefined) notes.push(`one of ${schema.enum.join(', ')}`);
  if (schema.default !== undefined) notes.push(`default ${JSON.stringify(schema.default)}`);
  if (schema.deprecated === true) notes.push('deprecated');
  return notes.join('; ');
}

/** Nested schemas with fields of their own. */
function inner(given) {
  const schema = resolve(given);
  if (schema === undefined) return [];
  if (schema.properties !== undefined) return [given];
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [...parts, ...(schema.items ? [schema.items] : [])].flatMap(inner);
}

function field(name, given, isRequired) {
  const below = inner(given);
  const facts = [
    el(
      'dt',
      {},
      el('code', {}, name),
      ' ',
      el('span', { class: 'type' }, typeOf(given)),
      isRequired ? el('span', { class: 'needed' }, ' required') : null,
    ),
    el(
      'dd',
      {},
      prose(given.description ?? resolve(given)?.description),
      notesOf(given) === '' ? null : el('p', { class: 'muted' }, notesOf(given)),
      below.map((schema) => opening(`Fields of ${nameOf(schema) ?? name}`, () => fields(schema))),
    ),
  ];
  return facts;
}

function fields(given) {
  const { properties = {}, required = [] } = resolve(given) ?? {};
  return el(
    'dl',
    {},
    Object.entries(properties).flatMap(([name, schema]) =>
      field(name, schema, required.includes(name)),
    ),
  );
}

/** A `<details>` element whose content is rendered when it is first opened. */
function opening(summary, draw, attributes = {}) {
  const details = el('details', attributes, el('summary', {}, summary));
  details.addEventListener(
    'toggle',
    () => details.open && details.childElementCount === 1 && details.append(draw()),
    { once: false },
  );
  return details;
}

function schemaBlock(given) {
  const own = inner(given);
  if (own.length === 0) return el('p', {}, typeOf(given));
  return el(
    'div',
    {},
    own.length === 1
      ? [el('p', { class: 'muted' }, typeOf(given)), fields(own[0])]
      : own.map((one, index) => opening(nameOf(one) ?? `Form ${index + 1}`, () => fields(one))),
  );
}

function tryIt({ path, method, operation, parameters, media }) {
  const inputs = parameters.map((parameter) => [
    parameter,
    el('input', { name: parameter.name, autocomplete: 'off', spellcheck: 'false' }),
  ]);
  const sample = media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
  const text = sample === undefined ? '' : JSON.stringify(sample, null, 2);
  const body = media === undefined ? null : el('textarea', { rows: '10', spellcheck: 'false' });
  if (body !== null) body.value = text;
  const status = el('p', { role: 'status' });
  const output = el('pre', { tabindex: '0', hidden: '' });
  const send = async (event) => {
    event.preventDefault();
    let target = path;
    const query = new URLSearchParams();
    const headers = {};
    for (const [{ name, in: where }, input] of inputs) {
      if (where === 'path') target = target.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value !== '' && where === 'query') query.append(name, input.value);
      else if (input.value !== '' && where === 'header') headers[name] = input.value;
    }
    const key = $('key').value.trim();
    if (key !== '') headers.authorization = `Bearer ${key}`;
    if (body !== null && body.value.trim() !== '') headers['content-type'] = 'application/json';
    status.textContent = 'Sending …';
    output.hidden = true;
    const begun = performance.now();
    try {
      const answer = await fetch(
        new URL(`${target.slice(1)}${query.size > 0 ? `?${query}` : ''}`, base),
        {
          method,
          headers,
          credentials: 'omit',
          ...(body !== null && body.value.trim() !== '' ? { body: body.value } : {}),
        },
      );
      const given = await answer.text();
      status.textContent = `${answer.status} ${answer.statusText} in ${Math.round(performance.now() - begun)} ms`;
      let shown = given;
      try {
        shown = JSON.stringify(JSON.parse(given), null, 2);
      } catch {
        // Not JSON: shown as text.
      }
      output.textContent = shown.slice(0, 200_000);
      output.hidden = shown === '';
    } catch {
      status.textContent =
        'No answer: the control plane cannot be reached, or the key has characters that no key has.';
    }
  };
  return el(
    'form',
    { submit: send, class: 'try', 'aria-label': `Try ${operation.operationId}` },
    inputs.map(([{ name, in: where, required }, input]) => {
      if (required) input.required = true;
      return el('label', {}, `${name} (${where})`, input);
    }),
    body === null ? null : el('label', {}, 'Body', body),
    el('button', {}, `Send ${method}`),
    status,
    output,
  );
}

function operationBody(path, method, operation) {
  const parameters = (operation.parameters ?? []).map(resolve);
  const request = resolve(operation.requestBody);
  const [type, media] = Object.entries(request?.content ?? {})[0] ?? [];
  const title = (words) => el('h3', {}, words);
  return el(
    'div',
    { class: 'operation' },
    prose(operation.description),
    parameters.length === 0
      ? null
      : [
          title('Parameters'),
          el(
            'dl',
            {},
            parameters.flatMap((parameter) =>
              field(
                `${parameter.name} (${parameter.in})`,
                {
                  ...resolve(parameter.schema),
                  description: parameter.description ?? parameter.schema?.description,
                },
                parameter.required,
              ),
            ),
          ),
        ],
    media === undefined ? null : [title(`Body: ${type}`), schemaBlock(media.schema)],
    title('Answers'),
    Object.entries(operation.responses).map(([status, given]) => {
      const response = resolve(given);
      const schema = Object.values(response.content ?? {})[0]?.schema;
      const words = `${status} ${response.description ?? ''}`;
      return schema === undefined ? el('p', {}, words) : opening(words, () => schemaBlock(schema));
    }),
    title('Try it'),
    tryIt({
      path,
      method,
      operation,
      parameters,
      media: type?.includes('json') === true ? media : undefined,
    }),
  );
}

function draw() {
  const byTag = new Map();
  for (const [path, item] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const tag = operation.tags?.[0] ?? 'Other';
      if (!byTag.has(tag)) byTag.set(tag, []);
      byTag.get(tag).push({ path, method: method.toUpperCase(), operation });
    }
  }
  const known = new Map((description.tags ?? []).map((tag) => [tag.name, tag]));
  const order = [...known.keys(), ...byTag.keys()];
  $('about').append(...prose(description.info.description));
  for (const tag of new Set(order)) {
    const operations = byTag.get(tag);
    if (operations === undefined) continue;
    $('operations').append(
      el(
        'section',
        { 'aria-label': tag },
        el('h2', {}, tag),
        prose(known.get(tag)?.description),
        operations.map(({ path, method, operation }) =>
          opening(
            el(
              'span',
              { class: 'line' },
              el('span', { class: `method ${method.toLowerCase()}` }, method),
              el('code', {}, path),
              el('span', {}, operation.summary ?? ''),
            ),
            () => operationBody(path, method, operation),
            {
              id: operation.operationId,
              'data-text':
                `${method} ${path} ${operation.summary} ${operation.operationId} ${tag}`.toLowerCase(),
            },
          ),
        ),
      ),
    );
  }
}

function narrow() {
  const words = $('filter').value.toLowerCase().split(/\s+/);
  let count = 0;
  for (const section of $('operations').children) {
    let isSeen = false;
    for (const one of section.querySelectorAll('details[data-text]')) {
      one.hidden = !words.every((word) => one.dataset.text.includes(word));
      if (!one.hidden) {
        isSeen = true;
        count += 1;
      }
    }
    section.hidden = !isSeen;
  }
  $('count').textContent = count === 1 ? '1 operation' : `${count} operations`;
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName !== 'DETAILS') return;
  named.open = true;
  named.scrollIntoView();
}

async function start() {
  try {
    description = await (await fetch(new URL('openapi.json', base))).json();
  } catch {
    $('count').textContent = 'The description cannot be loaded. Is the control plane running?';
    return;
  }
  draw();
  narrow();
  $('filter').addEventListener('input', narrow);
  addEventListener('hashchange', openNamed);
  openNamed();
}

void start();
