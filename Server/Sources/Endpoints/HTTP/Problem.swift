import CeremonyEngine
package import HTTPTypes
package import Hummingbird
import NIOCore
import Records
package import _Primitives

/// An answer of failure (RFC 9457), written as `application/problem+json`.
///
/// `detail` is for the caller. `detail` never holds a secret, or a fact that the caller may not know.
package struct Problem: Error, HTTPResponseError {
    package let status: HTTPResponse.Status
    /// The last part of `type`, which is `urn:countersign:error:<name>`.
    package let name: String
    package let detail: String?
    package let headers: HTTPFields
    /// Further members of the document.
    let members: JSONObject

    /// Names that several answers have, or by which the server chooses a page.
    package enum Name {
        /// The name of the same error in the engine and in the accounts.
        package static let notFound = CeremonyError.Code.notFound.name
        package static let browserUnknown = "browser-unknown"
        package static let storeUnavailable = "store-unavailable"
        package static let passwordsBusy = "passwords-busy"
        package static let `internal` = "internal"
    }

    package init(
        _ status: HTTPResponse.Status, _ name: String, _ detail: String? = nil, headers: HTTPFields = [:],
        members: JSONObject = [:]
    ) {
        self.status = status
        self.name = name
        self.detail = detail
        self.headers = headers
        self.members = members
    }

    /// The document's members.
    var document: JSONObject {
        var document: JSONObject = [
            "type": .string("urn:countersign:error:\(self.name)"),
            "title": .string(self.status.reasonPhrase), "status": .integer(Int64(self.status.code)),
        ]
        document["detail"] = self.detail.map(JSON.string)
        for member in self.members.members { document[member.name] = member.value }
        return document
    }

    var response: Response {
        var headers = self.headers
        headers[.contentType] = "application/problem+json"
        headers[.cacheControl] = "no-store"
        return Response(
            status: self.status, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: JSON.object(self.document).serialized)))
    }

    package func response(from request: Request, context: some RequestContext) throws -> Response { self.response }
}

extension Response {
    /// Returns a JSON answer.
    package static func json(
        _ object: JSONObject, status: HTTPResponse.Status = .ok, contentType: String = "application/json",
        headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = contentType
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
        return Response(
            status: status, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: JSON.object(object).serialized)))
    }

    /// Returns the answer 303 See Other: the browser goes on with GET.
    package static func seeOther(_ location: String, headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.location] = location
        headers[.cacheControl] = "no-store"
        return Response(status: .seeOther, headers: headers)
    }
}
