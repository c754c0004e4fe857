import Accounts
import CeremonyEngine
import HTTPTypes
import Hummingbird
import _Primitives

/// One operation of the admin API: what its document says of it and what it does, so that the two cannot part.
struct AdminOperation: Sendable {
    /// Where the paths of all operations begin.
    static let prefix = "/admin/v1"

    /// A member of a body.
    struct Field: Sendable {
        indirect enum Kind: Sendable {
            case string, boolean, integer, strings
            /// An object of a standard's, whose members are its own.
            case object
            case objects([Field])
        }

        let name: String
        let kind: Kind
        let isRequired: Bool
        let summary: String

        static func required(_ name: String, _ summary: String) -> Field { .required(name, .string, summary) }

        static func required(_ name: String, _ kind: Kind, _ summary: String) -> Field {
            Field(name: name, kind: kind, isRequired: true, summary: summary)
        }

        static func optional(_ name: String, _ summary: String) -> Field { .optional(name, .string, summary) }

        static func optional(_ name: String, _ kind: Kind, _ summary: String) -> Field {
            Field(name: name, kind: kind, isRequired: false, summary: summary)
        }
    }

    /// What a handler is given: the path's parameters and the body, of whose members all are known.
    struct Call: Sendable {
        /// By our own words, the names that stand in the path.
        let parameters: [String: String]
        let query: String?
        let body: JSONObject
        /// Whether an operation has not found what it was asked about.
        private static func isNotFound(_ error: any Error) -> Bool {
            (error as? CeremonyError)?.code == .notFound || (error as? AccountError)?.code == .notFound
        }

        /// Who asks, for the audit trail.
        let actor: String
        /// From where.
        let source: String
    }

    typealias Handler = @Sendable (Call) async throws -> JSONObject

    let method: HTTPRequest.Method
    /// Below `/admin/v1`, parameters in braces.
    let path: String
    /// The document's operationId.
    let id: String
    let summary: String
    var body: [Field] = []
    var query: [Field] = []
    var answer: [Field] = []
    /// What it answers when it succeeds.
    var status: HTTPResponse.Status = .ok
    /// The refusals of its own, beside those of every operation.
    var refusals: [(status: Int, meaning: String)] = []
    /// Whether it works without an administrator's token.
    var isOpen = false
    let handler: Handler

    /// The names in braces.
    var parameterNames: [String] {
        // Paths are our own words.
        self.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}
