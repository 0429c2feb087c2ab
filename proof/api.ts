/** Calls of the public API, as any consumer makes them. */

export interface ApiCall {
  baseUrl: string;
  apiKey: string;
}

/** Calls the API and gives the parsed body. Throws with the API's own message when it refuses. */
export async function callApi<T>(
  { baseUrl, apiKey }: ApiCall,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
