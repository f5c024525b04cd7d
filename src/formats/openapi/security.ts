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

/** Returns the schemes that work with a secret, by name. `prefix`: prefix of the secrets' names. */
export function schemesOf(document: OpenApiDocument, prefix: string): ReadonlyMap<string, Scheme> {
  const components = document.resolve(document.root['components']) ?? {};
  const schemes = new Map<string, Scheme>();
  const taken = new Set<string>();
  for (const [name, listed] of members(components['securitySchemes'])) {
    const scheme = document.resolve(listed);
    const authentication =
      scheme === undefined
        ? undefined
        : authenticationOf(
            scalar(scheme['type']),
            scalar(scheme['scheme']).toLowerCase(),
            scalar(scheme['in']),
            scalar(scheme['name']),
          );
    if (authentication === undefined) continue;
    const [kind, statement] = authentication;
    // Several schemes of one kind are distinguished by their names.
    const short = `${prefix}_${kind}`;
    const secret = taken.has(short) ? `${prefix}_${upper(name)}` : short;
    taken.add(secret);
    schemes.set(name, { name, secret, statement });
  }
  return schemes;
}

/** Returns a suffix for the secret's name, and the statement that adds the secret to a request. */
function authenticationOf(
  type: string,
  scheme: string,
  at: string,
  parameter: string,
): readonly [string, string] | undefined {
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

/** Returns the table of schemes for the generated module. */
export function schemesText(schemes: readonly Scheme[]): string {
  return `/** How each security scheme adds its secret to a request. */
const SECURITY: Readonly<Record<string, { readonly secret: string; apply(request: { readonly url: URL; readonly \
headers: Headers }, secret: string): void }>> = {
${schemes
  .map(
    ({ name, secret, statement }) =>
      `  ${key(name)}: { secret: ${quoted(secret)}, apply: (request, secret) => { ${statement} } },`,
  )
  .join('\n')}
};
`;
}

/** Converts a name such as `Pet Store` to `PET_STORE`. */
export function upper(name: string): string {
  const plain = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase();
  return plain === '' || /^\d/.test(plain) ? `API_${plain}` : plain;
}
