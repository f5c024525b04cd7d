/** Returns the annotations by which a Prometheus of the cluster finds pods to scrape. */
export function scrapeAnnotations(port: number): Readonly<Record<string, string>> {
  return { 'prometheus.io/scrape': 'true', 'prometheus.io/port': String(port), 'prometheus.io/path': '/metrics' };
}
