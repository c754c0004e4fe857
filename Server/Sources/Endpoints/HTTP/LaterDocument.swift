import Synchronization
package import _Primitives

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
