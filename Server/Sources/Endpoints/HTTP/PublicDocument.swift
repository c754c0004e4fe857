package import HTTPTypes
import Synchronization
package import _Primitives

/// The OpenAPI 3.1 document of the public addresses.
package struct PublicDocument: Sendable {
    /// The path of the document.
    static let path = "/openapi.json"

    /// The path of the server on its host.
    let server: IssuerPath
    let endpoints: [Endpoint]

    /// Returns the endpoints with the endpoint of their document in front. The document describes this endpoint, too.
    package static func describing(_ endpoints: [Endpoint], server: IssuerPath) -> [Endpoint] {
        func own(_ document: @escaping @Sendable () -> JSONObject) -> Endpoint {
            Endpoint(
                method: .get, path: Self.path, id: "describe", summary: "This document.", effect: .none,
                answers: [.init(status: 200, meaning: "OpenAPI 3.1.", type: "application/json")], get: .reads
            ) { _, _ in .json(document()) }
        }
        let described = Self(server: server, endpoints: [own { [:] }] + endpoints)
        let document = LaterDocument { described.json }
        return [own { document.json }] + endpoints
    }

    var json: JSONObject {
        var paths: JSONObject = [:]
        for endpoint in self.endpoints {
            var item: JSONObject = [:]
            if case .object(let present)? = paths[endpoint.path] { item = present }
            // Methods are our own words.
            item[endpoint.method.rawValue.lowercased()] = .object(endpoint.document)  // check: unicode-words
            paths[endpoint.path] = .object(item)
        }
        let error = DescribedField.schema([
            .required("error", "A code that is registered for OAuth 2.0."),
            .optional("error_description", "A sentence for developers."),
        ])
        return [
            "openapi": .string("3.1.0"),
            "info": .object([
                "title": .string("Countersign"), "version": .string("1"),
                "description": .string(
                    "What services, phones and browsers reach. Administration has a document of its own."),
            ]),
            "servers": .array([.object(["url": .string(self.server.text.isEmpty ? "/" : self.server.text)])]),
            "paths": .object(paths),
            "components": .object([
                "securitySchemes": .object([
                    "client": .object(["type": .string("http"), "scheme": .string("basic")]),
                    "token": .object(["type": .string("http"), "scheme": .string("bearer")]),
                    "device": .object([
                        "type": .string("apiKey"), "in": .string("header"), "name": .string(DeviceProofField.text),
                    ]),
                ]),
                "schemas": .object(["Problem": .object(Problem.schema), "OAuthError": .object(error)]),
            ]),
        ]
    }
}

/// A JSON document that is made at its first request, and kept. Few servers are ever asked for their descriptions, so
/// no start waits for them.
package final class LaterDocument: Sendable {
    private let make: @Sendable () -> JSONObject
    private let made = Mutex<JSONObject?>(nil)

    /// Creates the place of a document, which `make` makes.
    package init(_ make: @escaping @Sendable () -> JSONObject) { self.make = make }

    /// The document. Requests at the same time wait for one making.
    package var json: JSONObject {
        self.made.withLock { made in
            if let made { return made }
            let json = self.make()
            made = json
            return json
        }
    }
}

/// The header field of a device's own proof.
package enum DeviceProofField {
    package static let text = "Device-Proof"
    package static let name: HTTPField.Name? = HTTPField.Name(Self.text)
}
