import Countersign
import CountersignLinux
import Foundation

func makeClient(folder: String) async throws -> MobileAuthenticationClient {
    let platform = DevicePlatform(
        storage: try EncryptedFileStorage(directory: folder),
        clock: try LinuxDeviceClock())
    let server = URL(string: "https://id.example.com")!
    return try await MobileAuthenticationClientInitializer()
        .configuration(ClientConfiguration(baseURL: server))
        .platform(platform)
        .execute()
}

func decode(
    _ scanned: String, with client: MobileAuthenticationClient, screen: ConfirmationScreen
) async throws {
    let payload = try await client.operations.outOfBandPayloadDecode
        .scanned(scanned)
        .execute()
    let redeemed = try await client.operations.outOfBandOperation
        .payload(payload)
        .execute()
    switch redeemed {
    case .registration(let registration): try await enrol(registration)
    case .authentication(let authentication): try await confirm(authentication, on: screen)
    case .deregistration(let done): print("Gone here and at the server: \(done.accounts.map(\.username))")
    }
}
