{{/* What Isthmus may do, and no more: the table of src/control/objects/needed-rights.ts. A test holds the two together. */}}

{{/* Where the clusters are. */}}
{{- define "isthmus.clusterRules" }}
# Which clusters there are, and on which networks; never written.
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [openstackclusters]
  verbs: [list, watch]
# The server in a kubeconfig is rewritten, and given back. Only metadata is listed and watched.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch, get, patch]
# What happened to a cluster is told on its OpenStackCluster.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# Which further ways into a cluster are wanted, and what came of each (docs/how-to/listeners.md).
- apiGroups: [isthmus.dev]
  resources: [additionallisteners]
  verbs: [list, watch]
- apiGroups: [isthmus.dev]
  resources: [additionallisteners/status]
  verbs: [patch]
# Which machines an additional listener leads to. Watched only while there is one.
- apiGroups: [cluster.x-k8s.io]
  resources: [machines]
  verbs: [list, watch]
{{- end }}

{{/* Where Services are published. */}}
{{- define "isthmus.publishRules" }}
# One per proxied cluster, and per additional listener.
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch, create, patch, delete]
# One per Service and instance, while what is behind it is reachable from there.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch, create, patch, delete]
# One per instance: who lives.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch, get, create, patch, delete]
{{- end }}

{{/* In no namespace. */}}
{{- define "isthmus.nodeRules" }}
# Only for nodeParticipation: the labels of the Node that an instance runs on. A DaemonSet has one account for all of them, so the
# rule cannot name a single one.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end }}
