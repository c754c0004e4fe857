import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Logging
import UAF
import UAFRelyingParty
import _Primitives

/// The operations for the rules of the server: the models of authenticators and the policies.
struct RuleOperations: Sendable {
    let ceremonies: CeremonyEngine
    /// The server's log.
    let logger: Logger
    /// Reads the files again; the logger names the operator.
    let reload: @Sendable (Logger) throws -> (metadata: MetadataCatalog, policies: PolicyCatalog)

    private static let rules: [AdminOperation.Field] = [
        .required("models", .strings, "The AAIDs that have a statement."),
        .required("policies", .strings, "The names that relying parties may use."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/metadata", id: "showMetadata",
                summary: "Show which models and policies the server goes by.", answer: Self.rules,
                handler: { _ in Self.json(self.ceremonies.metadata, self.ceremonies.policies) }),
            AdminOperation(
                method: .post, path: "/metadata/reload", id: "reloadMetadata",
                summary: "Read metadata, revocations and policies again; a bad file changes nothing.",
                answer: Self.rules, refusals: [(422, "A file cannot be used; the detail names it.")],
                handler: self.reloaded),
        ]
    }

    private static func json(_ metadata: MetadataCatalog, _ policies: PolicyCatalog) -> JSONObject {
        [
            "models": .array(metadata.aaids.map(\.text).sorted().map(JSON.string)),
            "policies": .array(policies.names.map(JSON.string)),
        ]
    }

    @Sendable private func reloaded(_ call: AdminOperation.Call) async throws -> JSONObject {
        do {
            var logger = self.logger
            logger[metadataKey: "operator"] = "\(call.actor)"
            let rules = try self.reload(logger)
            return Self.json(rules.metadata, rules.policies)
        } catch {
            throw Problem(.unprocessableContent, "unusable-rules", "Nothing was changed: \(error)")
        }
    }
}
