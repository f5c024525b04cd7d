import { StudioError } from '../../src/common/errors.ts';
import { webLink } from '../../src/common/webLink.ts';

/** Opens a link of a trajectory in a new tab. Throws StudioError `forbidden` for other links than of the web. */
export function openLink(text: string): void {
  const url = webLink(text);
  if (url === undefined) throw new StudioError('forbidden', 'Only links to websites and mail addresses can be opened.');
  window.open(url.href, '_blank', 'noopener,noreferrer');
}
