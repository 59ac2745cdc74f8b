// Defines which environment variables are settings of this program and can be replaced for a successor. Pure.

export type Environment = Readonly<Record<string, string | undefined>>;

const SETTING =
  /^(ISTHMUS_\w+|PROXY_(PORT|BIND|ALWAYS)|POD_IP|NODE_NAME|KUBECONFIG|NODE_(OPTIONS|EXTRA_CA_CERTS)|(HTTPS?|NO)_PROXY|https?_proxy|no_proxy|TZ)$/;

/** Variables that a supervisor sets for one process only. */
const PERSONAL = /^(LISTEN_(PID|PIDFDID|FDS|FDNAMES)|WATCHDOG_PID|MAINPID|INVOCATION_ID)$/;

export function settingsOf(environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      return value !== undefined && SETTING.test(name);
    }),
  );
}

/** Our environment with the given settings in place of our own; null keeps our settings. */
export function successorEnvironment(own: Environment, settings: Environment | null): Record<string, string> {
  const kept = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    return value !== undefined && !PERSONAL.test(name) && (settings === null || !SETTING.test(name));
  });
  return { ...Object.fromEntries(kept), ...(settings === null ? {} : settingsOf(settings)) };
}
