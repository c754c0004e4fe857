import Endpoints
import HTTPTypes
import Hummingbird
import _Primitives

/// One operation of the admin API: the description and the handler. Both stand in one place, so that they always agree.
struct AdminOperation: Sendable {
    /// The beginning of the paths of all operations.
    static let prefix = "/admin/v1"

    typealias Field = DescribedField

    /// The input of a handler: the path's parameters and the body. All members of the body are known.
    struct Call: Sendable {
        /// The parameters by their names in the path, which are our own words.
        let parameters: [String: String]  // check: unicode-words
        let query: String?
        let body: JSONObject
        /// The caller, for the audit trail.
        let actor: String
        /// The address of the caller.
        let source: String
    }

    typealias Handler = @Sendable (Call) async throws -> JSONObject

    let method: HTTPRequest.Method
    /// The path below `/admin/v1`, with parameters in braces.
    let path: String
    /// The document's operationId.
    let id: String
    let summary: String
    var body: [Field] = []
    var query: [Field] = []
    var answer: [Field] = []
    /// The status of a success.
    var status: HTTPResponse.Status = .ok
    /// The refusals of this operation, beside the refusals of every operation.
    var refusals: [(status: Int, meaning: String)] = []
    /// `true` if the operation works without an administrator's token.
    var isOpen = false
    let handler: Handler

    /// The names in braces.
    var parameterNames: [String] {
        // Paths are our own words.
        // check: unicode-words
        self.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}
