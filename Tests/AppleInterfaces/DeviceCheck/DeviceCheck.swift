@_exported import Foundation

public struct DCError: Error {
    public enum Code: Int, Sendable {
        case unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable
    }

    public let code: Code
}

open class DCAppAttestService: NSObject {
    public class var shared: DCAppAttestService { DCAppAttestService() }
    open var isSupported: Bool { false }
    open func generateKey() async throws -> String { "" }
    open func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data { Data() }
    open func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data { Data() }
}
