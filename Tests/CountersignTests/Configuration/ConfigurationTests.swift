import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 1, 2, 7: configuration")
struct ConfigurationTests {
    @Test("The defaults are those of the table")
    func defaults() throws {
        let configuration = ClientConfiguration(baseURL: try #require(URL(string: "https://id.example.com")))
        #expect(configuration.registrationRequestPath == "/uaf/1.1/request/registration/")
        #expect(configuration.registrationResponsePath == "/uaf/1.1/registration/")
        #expect(configuration.authenticationRequestPath == "/uaf/1.1/request/authentication/")
        #expect(configuration.authenticationResponsePath == "/uaf/1.1/authentication/")
        #expect(configuration.deregistrationRequestPath == "/uaf/1.1/request/deregistration/")
        #expect(configuration.dispatchTargetResourcePath == "/token/dispatch/targets/")
        #expect(configuration.deviceResourcePath == "/devices/")
        #expect(configuration.authenticationMaxRetries == 3)
        #expect(configuration.authenticationRetryInterval == .seconds(1))
        #expect(configuration.networkTimeout == .seconds(60))
        #expect(configuration.userInteractionTimeout == .seconds(240))
        #expect(configuration.redeemHosts == ["id.example.com"])
        #expect(configuration.isDeviceLockRequired)
    }

    @Test(
        "The redeem host is that of the base address, with a port that is not the usual one",
        arguments: [
            ("https://id.example.com:443/x", "id.example.com"), ("http://localhost:8080", "localhost:8080"),
            ("https://ID.example.com:8443", "id.example.com:8443"), ("http://127.0.0.1:80", "127.0.0.1"),
        ])
    func redeemHosts(address: String, host: String) throws {
        #expect(ClientConfiguration(baseURL: try #require(URL(string: address))).redeemHosts == [host])
    }

    @Test("It is read from JSON, unknown members ignored, and written again the same")
    func json() throws {
        let text = """
            {"baseUrl":"https://id.example.com","networkTimeoutInSeconds":5,"redeemHosts":["a.example"],"later":{"x":1},
            "authenticationMaxRetries":5,"authenticationRetryIntervalInSeconds":7,
            "dispatchTargetResourcePath":"/targets/","deviceResourcePath":"/nevisfido/devices/",
            "isDeviceLockRequired":false,"facetId":"linux:program:x","authenticationResponsePath":"/auth/fidouaf/authenticationresponse/"}
            """
        let configuration = try JSONDecoder().decode(ClientConfiguration.self, from: Data(text.utf8))
        #expect(configuration.networkTimeout == .seconds(5) && configuration.redeemHosts == ["a.example"])
        #expect(configuration.facetID == "linux:program:x" && !configuration.isDeviceLockRequired)
        #expect(configuration.authenticationResponsePath == "/auth/fidouaf/authenticationresponse/")
        #expect(configuration.userInteractionTimeout == .seconds(240))
        #expect(configuration.authenticationMaxRetries == 5 && configuration.authenticationRetryInterval == .seconds(7))
        #expect(configuration.dispatchTargetResourcePath == "/targets/")
        #expect(configuration.deviceResourcePath == "/nevisfido/devices/")
        let again = try JSONDecoder().decode(ClientConfiguration.self, from: try JSONEncoder().encode(configuration))
        #expect(again == configuration)
    }

    @Test(
        "A time is written as whole seconds, and a part of a second as a whole one",
        arguments: [
            (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(999), 1), (.seconds(1), 1),
            (.milliseconds(1001), 2), (.milliseconds(-1500), -1), (.seconds(Int64.max) + .milliseconds(1), .max),
        ])
    func seconds(time: Duration, written: Int) throws {
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "https://id.example.com")))
        configuration.networkTimeout = time
        configuration.userInteractionTimeout = time
        configuration.authenticationRetryInterval = time
        let file = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(configuration)) as? [String: Any]
        #expect(file?["networkTimeoutInSeconds"] as? Int == written)
        #expect(file?["userInteractionTimeoutInSeconds"] as? Int == written)
        #expect(file?["authenticationRetryIntervalInSeconds"] as? Int == written)
    }

    @Test(
        "A base address that is missing or none is a typed error",
        arguments: [
            "{}", #"{"baseUrl":""}"#, #"{"baseUrl":"/path"}"#, #"{"baseUrl":"no address"}"#,
        ])
    func missing(text: String) {
        #expect(throws: InitializationError(.invalidConfiguration)) {
            try JSONDecoder().decode(ClientConfiguration.self, from: Data(text.utf8))
        }
    }

    @Test(
        "The configured paths are below scheme, host, port and path of the base address, and nothing else of it",
        arguments: [
            ("https://id.example.com:8443?x=1#y", "https://id.example.com:8443/auth/fidouaf"),
            ("https://id.example.com/", "https://id.example.com/auth/fidouaf"),
            ("https://id.example.com/shared/id", "https://id.example.com/shared/id/auth/fidouaf"),
            ("https://id.example.com/shared/?x=1#y", "https://id.example.com/shared/auth/fidouaf"),
        ])
    func paths(base: String, address: String) async throws {
        let url = try #require(URL(string: base))
        let world = try await World {
            $0.registrationRequestPath = "auth/fidouaf"
            $0.baseURL = url
        }
        _ = try? await world.phone.client.operations.registration.username("alice").execute()
        #expect(await world.server.requests.map(\.url.absoluteString) == [address])
    }

    @Test(
        "A base address without TLS sends nothing",
        arguments: [
            "http://id.example.com", "http://10.0.0.1", "http://127.0.0.1.example.com", "http://127.1",
            "ftp://id.example.com",
            "http://127.0.0.256", "http://localhost.example.com",
        ])
    func insecure(address: String) async throws {
        let url = try #require(URL(string: address))
        let world = try await World { $0.baseURL = url }
        let operations = world.phone.client.operations
        await #expect(throws: OperationError(.fidoError, fidoErrorCode: .insecureTransport)) {
            _ = try await operations.registration.username("alice").execute()
        }
        let error = await operationError {
            _ = try await operations.registration.username("alice").execute()
        }
        #expect(error == .fido(.insecureTransport))
        #expect(await world.server.requests.isEmpty)
    }

    @Test(
        "A literal loopback address may go without TLS",
        arguments: [
            "http://localhost:8080", "http://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]:8080",
            "http://LOCALHOST",
        ])
    func loopback(address: String) async throws {
        let url = try #require(URL(string: address))
        let world = try await World { $0.baseURL = url }
        _ = try? await world.phone.client.operations.registration.username("alice").execute()
        #expect(await world.server.requests.first?.url.host()?.isEmpty == false)
    }
}
