import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Settings
import _Primitives

/// An answer to a question of the doctor over the network, whatever its status.
struct DoctorAnswer: Sendable, Equatable {
    let status: Int
    /// The moment at which the answering machine wrote the answer (RFC 9110, section 6.6.1); `nil` without the field, and
    /// for a field of another form.
    let date: Timestamp?
    let body: [UInt8]
}

/// The doctor's questions over the network: a GET without a credential, as a phone or its maker asks.
///
/// No redirect is followed, and time and bytes are bounded.
struct DoctorNetwork: Sendable {
    let tls: TLSConfiguration
    var time = Limits.Doctor.networkAnswerTime

    /// Asks an address. Throws ``CommandFailure`` with the host and the reason if there is no answer.
    func answer(of address: String) async throws -> DoctorAnswer {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: self.tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .milliseconds(self.time.milliseconds)))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .automatic
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let time = self.time
        let result: Result<DoctorAnswer, any Error>
        do {
            // The client's own time ends with the head of the answer. A body without an end would hold the check for ever.
            let answer = try await withThrowingTaskGroup(of: DoctorAnswer?.self) { group in
                group.addTask { try await Self.answer(of: address, over: client, within: time) }
                group.addTask {
                    try await Task.sleep(for: time)
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let answer = first else {
                    throw Self.failure(address, "does not answer in time")
                }
                return answer
            }
            result = .success(answer)
        } catch {
            result = .failure(error)
        }
        // An HTTP client that is not shut down ends the program.
        try? await client.shutdown()
        return try result.get()
    }

    private static func answer(of address: String, over client: HTTPClient, within time: Duration) async throws
        -> DoctorAnswer
    {
        do {
            let response = try await client.execute(
                HTTPClientRequest(url: address), timeout: .milliseconds(time.milliseconds))
            let body = try await response.body.collect(upTo: Limits.Doctor.networkAnswerBytes)
            return DoctorAnswer(
                status: Int(response.status.code),
                date: response.headers.first(name: "Date").flatMap(Self.moment), body: Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw Self.failure(address, "answers more than \(Limits.Doctor.networkAnswerBytes) bytes")
        } catch let error as HTTPClientError {
            throw Self.failure(address, "does not answer (\(error.shortDescription))")
        } catch is NIOSSLExtraError {
            throw Self.failure(address, "shows a certificate for another name")
        } catch is NIOSSLError {
            throw Self.failure(address, "shows a certificate that this machine does not trust, or speaks no TLS")
        } catch {
            throw Self.failure(address, "cannot be connected to")
        }
    }

    private static func failure(_ address: String, _ reason: String) -> CommandFailure {
        CommandFailure(.unreachable, "\(Self.origin(of: address)) \(reason)")
    }

    /// Returns scheme, host and port of an address.
    static func origin(of address: String) -> String {
        guard let parts = URLComponents(string: address), let scheme = parts.scheme, let host = parts.percentEncodedHost
        else { return address }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }

    private static func moment(_ field: String) -> Timestamp? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: field).map { Timestamp(seconds: Int64($0.timeIntervalSince1970)) }
    }
}
