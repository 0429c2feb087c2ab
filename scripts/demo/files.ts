/** The files that a browser check of the demo leaves, as links a newcomer can open. */
import { callApi, type ApiCall } from '../../proof/api.ts';

interface Asset {
  type: string;
  url: string | null;
  viewerUrl: string | null;
}

interface BrowserResult {
  id: string;
  browserCheckResult: {
    pages: { webVitals: Record<string, { value: number; score: string } | undefined> }[];
  } | null;
}

interface ResultFiles {
  links: { type: string; url: string }[];
  /** The web vitals of the first page, as a line. */
  vitals: string;
}

const lookEveryMs = 1_000;

function vitalsOf({ browserCheckResult: seen }: BrowserResult): string {
  const vitals = Object.entries(seen?.pages[0]?.webVitals ?? {});
  return vitals
    .flatMap(([name, vital]) =>
      vital === undefined ? [] : [`${name} ${Math.round(vital.value * 100) / 100}`],
    )
    .join(', ');
}

/**
 * Waits for a result of a check with files of these types and with web vitals, which a busy machine
 * may not measure at the first run; null when aborted before.
 */
export async function untilFiles(
  api: ApiCall,
  checkId: string,
  types: readonly string[],
  signal: AbortSignal,
): Promise<ResultFiles | null> {
  while (!signal.aborted) {
    const [result] = await callApi<BrowserResult[]>(
      api,
      'GET',
      `/v1/check-results/${checkId}?limit=1`,
    ).catch(() => []);
    if (result !== undefined) {
      const { assets } = await callApi<{ assets: Asset[] }>(
        api,
        'GET',
        `/v1/check-results/${checkId}/${result.id}/assets`,
      ).catch(() => ({ assets: [] }));
      const links = types.flatMap((type) => {
        const asset = assets.find((known) => known.type === type && known.url !== null);
        const url = asset?.viewerUrl ?? asset?.url;
        return url == null ? [] : [{ type, url }];
      });
      const vitals = vitalsOf(result);
      if (links.length === types.length && vitals !== '') return { links, vitals };
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  return null;
}
