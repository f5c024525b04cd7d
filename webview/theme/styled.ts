/**
 * Resolves once the document's styles are there: its script does not wait for them. Without them (the file is missing)
 * the page goes on as it is.
 */
export function styled(): Promise<void> {
  const link = document.querySelector<HTMLLinkElement>('link[rel=stylesheet]');
  if (link === null || link.sheet !== null) return Promise.resolve();
  return new Promise((resolve) => {
    for (const end of ['load', 'error']) link.addEventListener(end, () => resolve(), { once: true });
  });
}
