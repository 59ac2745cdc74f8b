// The defaults and validation rules of the built-in kinds that Isthmus uses, from Kubernetes 1.35 (pkg/apis/*/validation).
// Simplified: only the rules that affect our clients. The suite in test/kube-api compares them with a real kube-apiserver.
import { isIP, isIPv4 } from 'node:net';
import {
  duplicate,
  type FieldProblem,
  immutable,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from '../api-error.ts';
import { dataKey, dns1123Label, dns1123Subdomain, qualifiedName } from '../names.ts';
import { equalJson, type GroupVersion, type JsonMap, type StoredObject } from '../stored-object.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const maps = (value: unknown): JsonMap[] => (Array.isArray(value) ? (value as JsonMap[]) : []);
const specOf = (object: StoredObject): JsonMap => (object.spec ?? {}) as JsonMap;
const isPort = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65536;

/** Allocates cluster IPs from the usual default range. On the real API server the range is a flag. */
export class ServiceAddresses {
  #next = 0;

  allocate(): string {
    this.#next += 1;
    return `10.${96 + ((this.#next >> 16) & 15)}.${(this.#next >> 8) & 255}.${this.#next & 255}`;
  }
}

export function prepareService(
  object: StoredObject,
  old: StoredObject | null,
  addresses: ServiceAddresses,
): void {
  const spec = specOf(object);
  object.spec = spec;
  spec.type ??= 'ClusterIP';
  spec.sessionAffinity ??= 'None';
  for (const port of maps(spec.ports)) {
    port.protocol ??= 'TCP';
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '')
      port.targetPort = port.port;
  }
  object.status = old === null ? { loadBalancer: {} } : (object.status ?? { loadBalancer: {} });
  if (spec.type === 'ExternalName') return;
  const before = old === null ? {} : specOf(old);
  if (spec.clusterIP === undefined || spec.clusterIP === '') {
    if (before.clusterIP !== undefined) spec.clusterIP = before.clusterIP;
    else spec.clusterIP = addresses.allocate();
  }
  spec.clusterIPs ??= [spec.clusterIP];
  spec.internalTrafficPolicy ??= 'Cluster';
  spec.ipFamilies ??= before.ipFamilies ?? [isIP(String(spec.clusterIP)) === 6 ? 'IPv6' : 'IPv4'];
  spec.ipFamilyPolicy ??= before.ipFamilyPolicy ?? 'SingleStack';
}

export function serviceProblems(object: StoredObject, old: StoredObject | null): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const spec = specOf(object);
  const ports = maps(spec.ports);
  if (ports.length === 0 && spec.type !== 'ExternalName' && spec.clusterIP !== 'None')
    problems.push(required('spec.ports'));
  const names = new Set<unknown>();
  const numbers = new Set<string>();
  ports.forEach((port, index) => {
    const path = `spec.ports[${index}]`;
    const { name = '', port: number, protocol, targetPort } = port;
    if (name === '' && ports.length > 1) problems.push(required(`${path}.name`));
    if (name !== '') {
      for (const each of dns1123Label(String(name))) problems.push(invalidValue(`${path}.name`, name, each));
      if (names.has(name)) problems.push(duplicate(`${path}.name`, name));
      names.add(name);
    }
    if (!isPort(number))
      problems.push(invalidValue(`${path}.port`, number ?? 0, 'must be between 1 and 65535, inclusive'));
    if (!PROTOCOLS.includes(String(protocol)))
      problems.push(notSupported(`${path}.protocol`, protocol, PROTOCOLS));
    if (typeof targetPort === 'number' && !isPort(targetPort))
      problems.push(invalidValue(`${path}.targetPort`, targetPort, 'must be between 1 and 65535, inclusive'));
    const key = `${protocol}/${number}`;
    if (numbers.has(key)) problems.push(duplicate(path, { port: number, protocol }));
    numbers.add(key);
  });
  const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
  if (!types.includes(String(spec.type))) problems.push(notSupported('spec.type', spec.type, types));
  const { clusterIP } = spec;
  if (clusterIP !== undefined && clusterIP !== 'None' && clusterIP !== '' && isIP(String(clusterIP)) === 0)
    problems.push(
      invalidValue(
        'spec.clusterIPs[0]',
        clusterIP,
        'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ),
    );
  if (old !== null && spec.type !== 'ExternalName' && specOf(old).type !== 'ExternalName')
    if (specOf(old).clusterIP !== clusterIP)
      problems.push(invalidValue('spec.clusterIPs[0]', spec.clusterIPs, 'may not change once set'));
  return problems;
}

export function prepareEndpointSlice(object: StoredObject): void {
  for (const endpoint of maps(object.endpoints)) endpoint.conditions ??= {};
  for (const port of maps(object.ports)) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
  object.endpoints ??= null;
  object.ports ??= null;
}

const isZero = (ip: string): boolean => isIP(ip) === 6 && /^[0:]+$/.test(ip);

const SPECIAL_ADDRESSES: readonly (readonly [test: (address: string) => boolean, why: string])[] = [
  [(ip) => ip === '0.0.0.0', 'may not be unspecified (0.0.0.0)'],
  [isZero, 'may not be unspecified (::)'],
  [(ip) => /^127\./.test(ip) || ip === '::1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [
    (ip) => /^169\.254\./.test(ip) || /^fe[89ab]/i.test(ip),
    'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    (ip) => /^224\.0\.0\./.test(ip) || /^ff[0-9a-f]2:/i.test(ip),
    'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  ],
];

export function endpointSliceProblems(object: StoredObject, old: StoredObject | null): FieldProblem[] {
  const { addressType } = object;
  const problems: FieldProblem[] = [];
  const types = ['FQDN', 'IPv4', 'IPv6'];
  if (addressType === undefined || addressType === '') problems.push(required('addressType'));
  else if (!types.includes(String(addressType)))
    problems.push(notSupported('addressType', addressType, types));
  const names = new Set<unknown>();
  maps(object.ports).forEach(({ name, protocol }, index) => {
    const path = `ports[${index}]`;
    if (name !== '')
      for (const each of dns1123Label(String(name))) problems.push(invalidValue(`${path}.name`, name, each));
    if (names.has(name)) problems.push(duplicate(`${path}.name`, name));
    names.add(name);
    if (!PROTOCOLS.includes(String(protocol)))
      problems.push(notSupported(`${path}.protocol`, protocol, PROTOCOLS));
  });
  // Endpoints that an older Kubernetes accepted stay valid while they are unchanged.
  if (old === null || !equalJson(old.endpoints, object.endpoints))
    problems.push(...endpointsProblems(maps(object.endpoints), String(addressType)));
  if (old !== null && old.addressType !== addressType) problems.push(immutable('addressType', addressType));
  return problems;
}

function endpointsProblems(endpoints: readonly JsonMap[], addressType: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (endpoints.length > 1000)
    return [
      {
        path: 'endpoints',
        reason: 'FieldValueTooMany',
        message: `Too many: ${endpoints.length}: must have at most 1000 items`,
      },
    ];
  endpoints.forEach((endpoint, index) => {
    const path = `endpoints[${index}].addresses`;
    const addresses = (endpoint.addresses ?? []) as string[];
    if (addresses.length === 0) problems.push(required(path, 'must contain at least 1 address'));
    addresses.forEach((address, at) => {
      const here = `${path}[${at}]`;
      if (addressType === 'FQDN') {
        for (const each of dns1123Subdomain(address)) problems.push(invalidValue(here, address, each));
        return;
      }
      if (addressType !== 'IPv4' && addressType !== 'IPv6') return;
      if (isIP(address) === 0) {
        problems.push(
          invalidValue(here, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'),
        );
        return;
      }
      if (isIPv4(address) !== (addressType === 'IPv4'))
        problems.push(invalidValue(path, address, `must be an ${addressType} address`));
      for (const [test, why] of SPECIAL_ADDRESSES)
        if (test(address)) problems.push(invalidValue(here, address, why));
    });
    const { nodeName, hostname } = endpoint;
    if (nodeName !== undefined)
      for (const each of dns1123Subdomain(String(nodeName)))
        problems.push(invalidValue(`endpoints[${index}].nodeName`, nodeName, each));
    if (hostname !== undefined)
      for (const each of dns1123Label(String(hostname)))
        problems.push(invalidValue(`endpoints[${index}].hostname`, hostname, each));
  });
  return problems;
}

export function leaseProblems(object: StoredObject): FieldProblem[] {
  const { leaseDurationSeconds, leaseTransitions } = specOf(object);
  return [
    ...(leaseDurationSeconds !== undefined && Number(leaseDurationSeconds) <= 0
      ? [invalidValue('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0')]
      : []),
    ...(leaseTransitions !== undefined && Number(leaseTransitions) < 0
      ? [invalidValue('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0')]
      : []),
  ];
}

const SECRET_LIMIT = 1024 * 1024;

export function prepareSecret(object: StoredObject): void {
  const given = object.stringData as Record<string, string> | undefined;
  if (given !== undefined) {
    const data = { ...((object.data ?? {}) as JsonMap) };
    for (const [key, value] of Object.entries(given)) data[key] = Buffer.from(value).toString('base64');
    object.data = data;
    delete object.stringData;
  }
  object.type ??= 'Opaque';
}

export function secretProblems(object: StoredObject, old: StoredObject | null): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let size = 0;
  for (const [key, value] of Object.entries((object.data ?? {}) as Record<string, string>)) {
    for (const each of dataKey(key)) problems.push(invalidValue(`data[${key}]`, key, each));
    size += Buffer.from(value, 'base64').length;
  }
  if (size > SECRET_LIMIT) problems.push(tooLong('data', SECRET_LIMIT));
  if (old !== null && old.type !== object.type) problems.push(immutable('type', object.type));
  if (old?.immutable === true && !equalJson(old.data, object.data))
    problems.push({
      path: 'data',
      reason: 'FieldValueForbidden',
      message: 'Forbidden: field is immutable when `immutable` is set',
    });
  return problems;
}

/** The field names of an event in v1 and in events.k8s.io/v1. Both are views of the same object. */
export const EVENT_FIELDS: readonly (readonly [core: string, events: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

/** `object` is always in v1. `by` is the version of the request. */
export function eventProblems(
  object: StoredObject,
  old: StoredObject | null,
  by: GroupVersion,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const at = (field: string): string => String(object[field] ?? '');
  const inner = ((object.involvedObject ?? {}) as JsonMap).namespace ?? '';
  const namespace = object.metadata.namespace ?? '';
  const mismatch = () =>
    problems.push(invalidValue('involvedObject.namespace', inner, 'does not match event.namespace'));
  const controller = by.group === '' ? 'reportingComponent' : 'reportingController';
  if (object.eventTime === undefined) {
    if (inner === '' ? namespace !== 'default' : inner !== namespace) mismatch();
  } else {
    if (inner === '' && namespace !== 'default' && namespace !== 'kube-system') mismatch();
    for (const [field, path, limit] of [
      ['reportingComponent', controller, null],
      ['reportingInstance', 'reportingInstance', 128],
      ['action', 'action', 128],
      ['reason', 'reason', 128],
    ] as const) {
      if (at(field) === '') problems.push(required(path));
      if (limit !== null && at(field).length > limit)
        problems.push(invalidValue(path, '', `can have at most ${limit} characters`));
    }
    for (const each of qualifiedName(at('reportingComponent')))
      problems.push(invalidValue(controller, at('reportingComponent'), each));
    if (at('message').length > 1024)
      problems.push(invalidValue('message', '', 'can have at most 1024 characters'));
  }
  if (by.group === '') return problems;
  const series = object.series as JsonMap | undefined;
  if (series !== undefined && !equalJson(series, old?.series)) {
    if (Number(series.count ?? 0) < 2)
      problems.push(invalidValue('series.count', '', 'should be at least 2'));
    if (series.lastObservedTime === undefined) problems.push(required('series.lastObservedTime'));
  }
  if (old !== null) {
    const fixed = [
      'involvedObject',
      'reason',
      'message',
      'source',
      'firstTimestamp',
      'lastTimestamp',
      'count',
      'type',
      'eventTime',
      'action',
      'related',
      'reportingComponent',
      'reportingInstance',
    ];
    for (const field of fixed)
      if (!equalJson(object[field], old[field]))
        problems.push(
          immutable(field === 'reportingComponent' ? 'reportingController' : field, object[field]),
        );
    return problems;
  }
  if (object.eventTime === undefined) problems.push(required('eventTime'));
  if (object.type !== 'Normal' && object.type !== 'Warning')
    problems.push(invalidValue('type', '', `has invalid value: ${at('type')}`));
  for (const field of ['firstTimestamp', 'lastTimestamp', 'count', 'source'])
    if (object[field] !== undefined && object[field] !== 0)
      problems.push(invalidValue(field, '', 'needs to be unset'));
  return problems;
}
