import HTTPTypes
import Hummingbird
import _Primitives

/// One operation of the admin API: what its document says of it and what it does, so that the two cannot part.
struct AdminOperation: Sendable {
    /// Where the paths of all operations begin.
    static let prefix = "/admin/v1"

    typealias Field = DescribedField

    /// What a handler is given: the path's parameters and the body, of whose members all are known.
    struct Call: Sendable {
        /// By our own words, the names that stand in the path.
        let parameters: [String: String]
        let query: String?
        let body: JSONObject
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
