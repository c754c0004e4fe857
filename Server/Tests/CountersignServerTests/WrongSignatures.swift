import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore

/// The way to a server on which somebody changes the signatures of phones' answers.
struct WrongSignatures: TestClientProtocol {
    let client: any TestClientProtocol

    var port: Int? { self.client.port }

    func executeRequest(
        uri: String, method: HTTPRequest.Method, headers: HTTPFields, body: ByteBuffer?
    ) async throws -> TestResponse {
        var body = body
        if uri.hasPrefix("/uaf/1.1/authentication"), let sent = body {
            let text = String(buffer: sent)
            if let match = text.firstMatch(of: #/assertion\\":\\"[A-Za-z0-9_-]+/#) {
                // The signature ends the assertion; what is changed lies well within it.
                let place = text.index(match.range.upperBound, offsetBy: -12)
                let changed = text[..<place] + (text[place] == "A" ? "B" : "A") + text[text.index(after: place)...]
                body = ByteBuffer(string: String(changed))
            }
        }
        return try await self.client.executeRequest(uri: uri, method: method, headers: headers, body: body)
    }
}
