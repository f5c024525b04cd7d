/**
 * Builds the HTML document of a page, the same for every host: an editor, a browser tab, a file. Scripts come only from
 * sources that the host lists; nothing is inline unless the host lists its hash.
 */

/**
 * Sources of each kind in the syntax of a Content-Security-Policy, such as `'self'` or `data:`. A kind without sources
 * is blocked.
 */
export interface PageSources {
  readonly script: readonly string[];
  readonly style: readonly string[];
  readonly font: readonly string[];
  readonly img: readonly string[];
  readonly connect: readonly string[];
  readonly worker: readonly string[];
}

/** A part that is loaded from an address or contained in the document. */
type PagePart = { readonly url: string } | { readonly text: string };
/** A script may be a module that loads further modules next to it. */
type PageScript = PagePart | { readonly module: string };

export interface PageHtml {
  readonly title: string;
  readonly sources: PageSources;
  readonly script: PageScript;
  readonly style: PagePart;
  /** Attributes of `<body>`, such as `data-host`. */
  readonly bodyAttributes?: Readonly<Record<string, string>>;
  /** Data for the script, found by ID; never executed. */
  readonly data?: readonly PageData[];
}

export interface PageData {
  readonly id: string;
  /** Media type. Must not be one that a browser executes. */
  readonly type: string;
  readonly text: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

const SKELETON_ROWS = 12;
const SKELETON_PANELS = 4;
const ATTRIBUTE_NAME = /^[a-z][a-z0-9-]*$/;
const RUNNABLE = /script|module/i;

/** Returns the whole document. It first shows a skeleton in `#page`, which the page replaces. */
export function pageHtml(page: PageHtml): string {
  const style =
    'url' in page.style
      ? `<link rel="stylesheet" href="${escapeHtml(page.style.url)}">`
      : `<style>${inlineStyle(page.style.text)}</style>`;
  return [
    '<!DOCTYPE html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(contentSecurityPolicy(page.sources))}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    // Otherwise browsers request an icon that does not exist.
    '<link rel="icon" href="data:,">',
    `<title>${escapeHtml(page.title)}</title>`,
    ...scriptInHead(page.script),
    style,
    '</head>',
    `<body${attributesText(page.bodyAttributes ?? {})}>`,
    `<div id="page">${skeleton(page.title)}</div>`,
    ...(page.data ?? []).map(dataElement),
    ...scriptInBody(page.script),
    '</body>',
    '</html>',
    '',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** Placed before the large styles: a module runs and requests the page's data while they are read. */
function scriptInHead(script: PageScript): string[] {
  if ('url' in script) return [`<script src="${escapeHtml(script.url)}" defer></script>`];
  return 'module' in script
    ? [`<link rel="modulepreload" href="${escapeHtml(script.module)}" fetchpriority="high">`]
    : [];
}

/** Placed after the elements it needs. Without `async`, a module would wait for the styles too. */
function scriptInBody(script: PageScript): string[] {
  if ('module' in script) return [`<script type="module" src="${escapeHtml(script.module)}" async></script>`];
  return 'text' in script ? [`<script>${inlineScript(script.text)}</script>`] : [];
}

/** Returns the policy, for the document and for a header. */
export function contentSecurityPolicy(sources: PageSources): string {
  const directives = Object.entries(sources).map(
    ([kind, from]: [string, readonly string[]]) => `${kind}-src ${from.length === 0 ? "'none'" : from.join(' ')}`,
  );
  return ["default-src 'none'", ...directives, "base-uri 'none'", "form-action 'none'"].join('; ');
}

/**
 * Returns a script in the form in which a document can contain it: nothing ends the element, and line ends are
 * normalized, so that its hash stays valid.
 */
export function inlineScript(text: string): string {
  return oneLineEnd(text).replaceAll(/<(?=\/script|!--)/gi, '\\x3c');
}

/** Returns a style sheet in the form in which a document can contain it. */
export function inlineStyle(text: string): string {
  return oneLineEnd(text).replaceAll(/<(?=\/style|!--)/gi, '\\3c ');
}

/** Escapes text for HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

function dataElement({ id, type, text, attributes = {} }: PageData): string {
  if (RUNNABLE.test(type)) throw new TypeError(`${type} is not a media type for data: browsers execute it`);
  if (text.includes('<')) throw new TypeError(`the data ${id} must not contain “<”: it could end its element`);
  return `<script${attributesText({ type, id, ...attributes })}>${text}</script>`;
}

/** Returns JSON text that is safe in a `<script>`: the same value, without any `<`. */
export function jsonForHtml(json: string): string {
  return json.replaceAll('<', '\\u003c');
}

function attributesText(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => {
      if (!ATTRIBUTE_NAME.test(name)) throw new TypeError(`“${name}” is not a valid attribute name`);
      return ` ${name}="${escapeHtml(value)}"`;
    })
    .join('');
}

/**
 * Returns the bars and frames of a page, as high as its content (webview/theme/skeleton.css). The page's kind is in
 * `data-page` of the body.
 */
function skeleton(title: string): string {
  const times = (number: number, name: string): string => `<div class="skeleton-${name}"></div>`.repeat(number);
  return (
    '<div class="skeleton is-page" aria-busy="true" role="status" aria-label="Loading">' +
    `<div class="skeleton-bar">${escapeHtml(title)}</div><div ` +
    `class="skeleton-panels">${times(SKELETON_PANELS, 'panel')}</div><div class="skeleton-filter"></div>` +
    `<div class="skeleton-rows">${times(SKELETON_ROWS, 'row')}</div></div>`
  );
}

function oneLineEnd(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}
