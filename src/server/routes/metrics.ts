/** `GET /metrics`, for Prometheus. */

import type { Route } from '../http/router.ts';
import { METRICS_MEDIA } from '../telemetry/prometheus.ts';
import type { Scrape } from '../telemetry/scrape.ts';

/** `open`: without a token. */
export function metricsRoutes(scrape: Scrape, open: boolean): Route[] {
  return [
    {
      method: 'GET',
      path: '/metrics',
      access: open ? 'anyone' : 'read',
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
