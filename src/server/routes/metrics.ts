/** `GET /metrics`, for Prometheus. */

import type { RouteHandler } from '../http/router.ts';
import { METRICS_MEDIA } from '../telemetry/prometheus.ts';
import type { Scrape } from '../telemetry/scrape.ts';

export const METRICS_PATH = '/metrics';

export function metricsRoutes(scrape: Scrape): RouteHandler[] {
  return [
    {
      method: 'GET',
      path: METRICS_PATH,
      handle: async ({ response }) => {
        const text = await scrape.text();
        response.writeHead(200, {
          'content-type': METRICS_MEDIA,
          'content-length': Buffer.byteLength(text),
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
        });
        response.end(text);
        return undefined;
      },
    },
  ];
}
