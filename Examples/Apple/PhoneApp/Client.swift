import Countersign
import CountersignApple
import Foundation

func makeClient() async throws -> MobileAuthenticationClient {
    let server = URL(string: "https://id.example.com")!
    return try await MobileAuthenticationClientInitializer()
        .configuration(ClientConfiguration(baseURL: server))
        .platform(try DevicePlatform.apple())
        .execute()
}
