/** Writes the code that authenticates requests by the security schemes, with the secrets they need. */
import { key, quoted } from './code.ts';
import { members, type OpenApiDocument, scalar } from './document.ts';

export interface Scheme {
  readonly name: string;
  /** Name of its secret. */
  readonly secret: string;
  /** The statement that puts `secret` into `request`. */
  readonly statement: string;
}

/** Those that a secret can serve, by name. `prefix`: begins the names of secrets. */
export function schemesOf(document: OpenApiDocument, prefix: string): ReadonlyMap<string, Scheme> {
  const components = document.resolve(document.root['components']) ?? {};
  const found = new Map<string, Scheme>();
  const taken = new Set<string>();
  for (const [name, listed] of members(components['securitySchemes'])) {
    const scheme = document.resolve(listed);
    const made =
      scheme === undefined
        ? undefined
        : how(
            scalar(scheme['type']),
            scalar(scheme['scheme']).toLowerCase(),
            scalar(scheme['in']),
            scalar(scheme['name']),
          );
    if (made === undefined) continue;
    const [kind, statement] = made;
    // Several schemes of one kind are distinguished by their names.
    const short = `${prefix}_${kind}`;
    const secret = taken.has(short) ? `${prefix}_${upper(name)}` : short;
    taken.add(secret);
    found.set(name, { name, secret, statement });
  }
  return found;
}

function how(type: string, scheme: string, at: string, parameter: string): readonly [string, string] | undefined {
  if (type === 'apiKey') {
    switch (at) {
      case 'header':
        return ['API_KEY', `request.headers.set(${quoted(parameter)}, secret);`];
      case 'query':
        return ['API_KEY', `request.url.searchParams.set(${quoted(parameter)}, secret);`];
      case 'cookie':
        return [
          'API_KEY',
          `request.headers.append('cookie', ` +
            `\`${parameter.replaceAll(/[`\\$]/g, '\\$&')}=\${encodeURIComponent(secret)}\`);`,
        ];
      default:
        return undefined;
    }
  }
  // The secret of a basic login is `user:password`.
  if (type === 'http' && scheme === 'basic')
    return ['LOGIN', "request.headers.set('authorization', `Basic ${Buffer.from(secret).toString('base64')}`);"];
  if (type === 'http' && scheme !== 'bearer') return undefined;
  return type === 'http' || type === 'oauth2' || type === 'openIdConnect'
    ? ['TOKEN', "request.headers.set('authorization', `Bearer ${secret}`);"]
    : undefined;
}

/** The table of the generated module. */
export function schemesText(schemes: readonly Scheme[]): string {
  return `/** How a request says who asks. */
const SECURITY: Readonly<Record<string, { readonly secret: string; put(request: { readonly url: URL; readonly \
headers: Headers }, secret: string): void }>> = {
${schemes
  .map(
    ({ name, secret, statement }) =>
      `  ${key(name)}: { secret: ${quoted(secret)}, put: (request, secret) ` + `=> { ${statement} } },`,
  )
  .join('\n')}
};
`;
}

/** `Pet Store` as PET_STORE. */
export function upper(name: string): string {
  const plain = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase();
  return plain === '' || /^\d/.test(plain) ? `API_${plain}` : plain;
}
